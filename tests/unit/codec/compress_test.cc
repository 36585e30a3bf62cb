// The optional zstd frame: round trip, caps before allocation, damage.
#include "engine/codec/compress.h"

#include <gtest/gtest.h>

#include "engine/base/hash.h"
#include "engine/base/random.h"
#include "engine/base/units.h"

namespace cairn::codec {
namespace {

std::string text(std::size_t bytes) {
  std::string out;
  SplitMix64 random(5);
  while (out.size() < bytes) out += "layer " + std::to_string(random.below(50)) + " weight ";
  out.resize(bytes);
  return out;
}

TEST(Compress, BringsBackWhatWentIn) {
  for (const std::size_t bytes : {0, 1, 4096, 100'000}) {
    const auto frame = compress(as_bytes(text(bytes)), 3);
    ASSERT_TRUE(frame.has_value());
    const auto raw = decompress(as_bytes(*frame), kMiB);
    ASSERT_TRUE(raw.has_value()) << raw.error().to_string();
    EXPECT_EQ(*raw, text(bytes));
  }
}

/// What stands in front of zstd's own frame; that one may differ from version to version of zstd.
TEST(Compress, BeginsWithTheHeaderOfTheFormat) {
  const auto frame = compress(as_bytes(std::string("abc")), 3);
  ASSERT_TRUE(frame.has_value());
  std::string header("CRNZ\1\0\0\0\3\0\0\0\0\0\0\0", 16);
  append_le(header, hash64(as_bytes(std::string("abc"))));
  EXPECT_EQ(frame->substr(0, 24), header);
  EXPECT_EQ(frame->substr(24, 4), "\x28\xb5\x2f\xfd");  // zstd's magic
}

TEST(Compress, RefusesAClaimAboveTheCapBeforeAllocating) {
  auto frame = compress(as_bytes(text(1000)), 3);
  ASSERT_TRUE(frame.has_value());
  store_le<std::uint64_t>(frame->data() + 8, UINT64_MAX / 2);
  const auto raw = decompress(as_bytes(*frame), kMiB);
  ASSERT_FALSE(raw.has_value());
  EXPECT_EQ(raw.error().reason(), Reason::kTooLarge);
}

TEST(Compress, RefusesAnotherVersionWithBothNumbers) {
  auto frame = compress(as_bytes(text(1000)), 3);
  ASSERT_TRUE(frame.has_value());
  store_le<std::uint32_t>(frame->data() + 4, 9);
  const auto raw = decompress(as_bytes(*frame), kMiB);
  ASSERT_FALSE(raw.has_value());
  EXPECT_EQ(raw.error().code(), Code::kUnsupported);
  EXPECT_NE(raw.error().message().find("version 9, this build knows 1"), std::string_view::npos);
}

TEST(Compress, RefusesALengthThatTheDataDoesNotHave) {
  auto frame = compress(as_bytes(text(1000)), 3);
  ASSERT_TRUE(frame.has_value());
  for (const std::uint64_t claimed : {0, 999, 1001, 1'000'000}) {
    store_le<std::uint64_t>(frame->data() + 8, claimed);
    const auto raw = decompress(as_bytes(*frame), kMiB);
    ASSERT_FALSE(raw.has_value()) << claimed;
    EXPECT_EQ(raw.error().code(), Code::kCorrupt) << claimed;
  }
}

TEST(Compress, FindsEveryFlippedBitAndEveryCut) {
  const auto frame = compress(as_bytes(text(3000)), 3);
  ASSERT_TRUE(frame.has_value());
  for (std::size_t bit = 0; bit < frame->size() * 8; ++bit) {
    std::string damaged = *frame;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto raw = decompress(as_bytes(damaged), kMiB);
    // A bit that zstd does not use may change nothing; then the bytes are right all the same.
    if (raw) {
      EXPECT_EQ(*raw, text(3000)) << "bit " << bit;
    } else {
      raw.error().ignore();
    }
  }
  for (std::size_t cut = 0; cut < frame->size(); ++cut) {
    const auto raw = decompress(as_bytes(*frame).first(cut), kMiB);
    ASSERT_FALSE(raw.has_value()) << cut;
    EXPECT_EQ(raw.error().code(), Code::kCorrupt);
  }
}

}  // namespace
}  // namespace cairn::codec

// The frame header: round trip, golden bytes, limits before anything is allocated.
#include "engine/wire/frame.h"

#include <gtest/gtest.h>

#include "engine/base/hash.h"

namespace cairn::wire {
namespace {

FrameHeader sample() {
  FrameHeader header;
  header.type = 0x0102;
  header.flags = kReply | kError;
  header.body_bytes = 300;
  header.payload_bytes = 5 * kMiB;
  header.request = 77;
  header.deadline_ms = 1500;
  header.epoch = Epoch{9};
  return header;
}

/// `bytes` with a right hash again.
FrameHeaderBytes rehashed(FrameHeaderBytes bytes) {
  store_le<std::uint64_t>(bytes.data() + 56, hash64(Bytes(bytes).first(56)));
  return bytes;
}

template <class T>
FrameHeaderBytes with(std::size_t at, T value) {
  FrameHeaderBytes bytes = encode(sample());
  store_le<T>(bytes.data() + at, value);
  return rehashed(bytes);
}

Status refusal(const FrameHeaderBytes& bytes, const FrameLimits& limits = {}) {
  const auto decoded = decode_frame_header(bytes, limits);
  return decoded ? Status() : decoded.error();
}

TEST(FrameHeader, ComesBackAsItWasSent) {
  const auto decoded = decode_frame_header(encode(sample()), {});
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_EQ(*decoded, sample());
}

TEST(FrameHeader, HasTheBytesThatTheFormatPageShows) {
  const FrameHeaderBytes bytes = encode(sample());
  EXPECT_EQ(as_text(Bytes(bytes).first(4)), "CRNW");
  EXPECT_EQ(load_le<std::uint16_t>(bytes.data() + 4), 1u);
  EXPECT_EQ(load_le<std::uint16_t>(bytes.data() + 6), 0x0102u);
  EXPECT_EQ(load_le<std::uint32_t>(bytes.data() + 12), 300u);
  EXPECT_EQ(load_le<std::uint64_t>(bytes.data() + 16), 5 * kMiB);
  EXPECT_EQ(load_le<std::uint64_t>(bytes.data() + 24), 77u);
  EXPECT_EQ(load_le<std::uint32_t>(bytes.data() + 32), 1500u);
  EXPECT_EQ(load_le<std::uint64_t>(bytes.data() + 40), 9u);
  // Golden: a change of this value is a change of the format and needs a new format number.
  EXPECT_EQ(hash64(bytes), 17604480056300527741u);
}

TEST(FrameHeader, WithAnyBitFlippedIsRefused) {
  FrameHeaderBytes bytes = encode(sample());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::byte mask{static_cast<std::uint8_t>(1u << (bit % 8))};
    bytes[bit / 8] ^= mask;
    EXPECT_FALSE(refusal(bytes).ok()) << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(FrameHeader, OfAnotherFormatNamesBothNumbers) {
  const Status refused = refusal(with<std::uint16_t>(4, 3));
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_EQ(refused.reason(), Reason::kVersion);
  EXPECT_NE(refused.message().find("format 3"), std::string_view::npos);
  EXPECT_NE(refused.message().find("knows 1"), std::string_view::npos);
}

TEST(FrameHeader, WithUnknownFlagsOrReservedBytesIsRefused) {
  EXPECT_EQ(refusal(with<std::uint32_t>(8, 1u << 31)).code(), Code::kCorrupt);
  EXPECT_EQ(refusal(with<std::uint32_t>(36, 1)).code(), Code::kCorrupt);
  EXPECT_EQ(refusal(with<std::uint64_t>(48, 1)).code(), Code::kCorrupt);
}

TEST(FrameHeader, NamesTheLengthThatIsAboveItsLimit) {
  EXPECT_EQ(refusal(with<std::uint32_t>(12, kFrameBodyBytesMax)).code(), Code::kOk);
  const Status body = refusal(with<std::uint32_t>(12, 0xffffffff));
  EXPECT_EQ(body.reason(), Reason::kTooLarge);
  EXPECT_NE(body.message().find("a body of"), std::string_view::npos);
  const Status payload = refusal(with<std::uint64_t>(16, ~std::uint64_t{0}));
  EXPECT_EQ(payload.reason(), Reason::kTooLarge);
  EXPECT_NE(payload.message().find("a payload of"), std::string_view::npos);
}

TEST(FrameHeader, OfAnUnknownPeerIsHeldToTheLimitsOfHello) {
  FrameHeader hello;
  hello.body_bytes = kHelloBodyBytesMax;
  EXPECT_TRUE(refusal(encode(hello), kHelloLimits).ok());
  ++hello.body_bytes;
  EXPECT_EQ(refusal(encode(hello), kHelloLimits).reason(), Reason::kTooLarge);
  hello.body_bytes = 0;
  hello.payload_bytes = 1;
  EXPECT_EQ(refusal(encode(hello), kHelloLimits).reason(), Reason::kTooLarge);
}

}  // namespace
}  // namespace cairn::wire

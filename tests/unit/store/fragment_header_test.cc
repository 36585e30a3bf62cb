// The fragment header: round trip, golden bytes, and refusal of anything that is not one.
#include "engine/store/fragment_header.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/base/random.h"

namespace cairn::store {
namespace {

FragmentHeader sample(const layout::Geometry& geometry, Bytes table) {
  FragmentHeader header;
  for (std::uint8_t i = 0; i < 16; ++i) {
    header.cluster.bytes[i] = i;
    header.target.bytes[i] = static_cast<std::uint8_t>(0xf0 + i);
  }
  header.segment = {7};
  header.segment_offset = 3 * kPageBytes;
  header.volume = {11};
  header.name = {{42, 7}, 3, {5}};
  header.geometry = geometry;
  header.table_hash = hash64(table);
  return header;
}

std::vector<std::byte> sample_table(const layout::Geometry& geometry) {
  std::vector<std::byte> table(layout::table_bytes(geometry));
  SplitMix64 random(1);
  for (std::byte& byte : table) byte = static_cast<std::byte>(random.next());
  return table;
}

/// XXH3-64 of the encoded sample.
constexpr std::uint64_t kGoldenHeaderHash = 4808739287027255140ULL;
constexpr layout::Geometry kSmall{4, 2, static_cast<std::uint32_t>(kUnitBytesDefault), 100'000};

std::vector<std::byte> encoded(const layout::Geometry& geometry) {
  const auto table = sample_table(geometry);
  std::vector<std::byte> out(header_bytes(geometry));
  encode_header(sample(geometry, table), table, out);
  return out;
}

TEST(FragmentHeader, ComesBackAsItWasWritten) {
  for (const layout::Geometry& geometry :
       {kSmall, layout::Geometry{1, 3, static_cast<std::uint32_t>(kUnitBytesDefault), 64 * kMiB},
        layout::Geometry{1, 0, static_cast<std::uint32_t>(kUnitBytesDefault), 1}}) {
    auto header = sample(geometry, sample_table(geometry));
    header.name.index = 0;
    const auto table = sample_table(geometry);
    std::vector<std::byte> out(header_bytes(geometry) + kPageBytes);
    encode_header(header, table, out);
    const auto decoded = decode_header(out);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
    EXPECT_EQ(decoded->header, header);
    EXPECT_EQ(decoded->header_bytes, header_bytes(geometry));
    EXPECT_EQ(as_text(decoded->table), as_text(table));
  }
}

TEST(FragmentHeader, OfTheLargestTableFitsItsLimit) {
  const layout::Geometry copies{1, 3, static_cast<std::uint32_t>(kUnitBytesDefault), 64 * kMiB};
  EXPECT_EQ(layout::table_bytes(copies), kHashTableBytesMax);
  EXPECT_LE(header_bytes(copies), kFragmentHeaderBytesMax);
}

TEST(FragmentHeader, HasTheBytesThatTheFormatPageShows) {
  const auto out = encoded(kSmall);
  ASSERT_EQ(out.size(), kPageBytes);
  EXPECT_EQ(as_text(Bytes(out).first(8)), "CRNFRAG1");
  EXPECT_EQ(load_le<std::uint32_t>(out.data() + 8), 1u);
  EXPECT_EQ(load_le<std::uint64_t>(out.data() + 56), 7u);
  EXPECT_EQ(load_le<std::uint64_t>(out.data() + 64), 3 * kPageBytes);
  EXPECT_EQ(load_le<std::uint64_t>(out.data() + 80), 42u);
  EXPECT_EQ(load_le<std::uint32_t>(out.data() + 96), 5u);
  EXPECT_EQ(static_cast<std::uint8_t>(out[100]), 3);
  // Golden: a change of this value is a change of the format and needs a new format number.
  EXPECT_EQ(hash64(out), kGoldenHeaderHash);
}

TEST(FragmentHeader, WithAnyBitFlippedIsRefused) {
  auto out = encoded(kSmall);
  for (std::size_t bit = 0; bit < out.size() * 8; bit += 5) {
    const std::byte mask{static_cast<std::uint8_t>(1u << (bit % 8))};
    out[bit / 8] ^= mask;
    const auto decoded = decode_header(out);
    ASSERT_FALSE(decoded.has_value()) << "bit " << bit;
    decoded.error().ignore();
    out[bit / 8] ^= mask;
  }
}

TEST(FragmentHeader, CutShortIsRefused) {
  const auto out = encoded(kSmall);
  for (std::size_t bytes = 0; bytes < out.size(); bytes += 97) {
    const auto decoded = decode_header(Bytes(out).first(bytes));
    ASSERT_FALSE(decoded.has_value()) << bytes;
    EXPECT_EQ(decoded.error().code(), Code::kCorrupt);
  }
}

TEST(FragmentHeader, OfAnotherFormatNamesBothNumbers) {
  auto out = encoded(kSmall);
  store_le<std::uint32_t>(out.data() + 8, 9);
  const auto decoded = decode_header(out);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code(), Code::kUnsupported);
  EXPECT_EQ(decoded.error().reason(), Reason::kVersion);
  EXPECT_NE(decoded.error().message().find("format 9"), std::string_view::npos);
}

}  // namespace
}  // namespace cairn::store

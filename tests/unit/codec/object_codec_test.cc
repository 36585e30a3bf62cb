// The path of an object: parity and table in one pass, fragments back in runs of blocks, and
// nothing wrong gets through.
#include "engine/codec/object_codec.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/codec/encoded_object.h"

namespace cairn::codec {
namespace {

std::vector<layout::Geometry> geometries(std::uint64_t object_bytes) {
  std::vector<layout::Geometry> out;
  for (const auto& [k, m] : std::vector<std::pair<std::uint8_t, std::uint8_t>>{
           {1, 0}, {1, 2}, {2, 1}, {4, 2}, {8, 2}, {8, 3}, {10, 4}, {16, 4}}) {
    out.push_back({k, m, kUnit, object_bytes});
  }
  return out;
}

TEST(ObjectCodec, MakesTheTableThatHashingEachFragmentMakes) {
  for (const std::uint64_t bytes : {1ul, 4095ul, 4096ul, 4097ul, kBlockBytes - 1, kBlockBytes,
                                    kBlockBytes + 1, 5 * kBlockBytes + 12'345, 2 * kMiB}) {
    for (const layout::Geometry& g : geometries(bytes)) {
      const Encoded encoded(g);
      Buffer table(layout::table_bytes(g));
      for (std::uint32_t i = 0; i < g.fragments(); ++i) {
        fill_table(table, g, kObject, i, 0, encoded.fragments[i]);
      }
      EXPECT_EQ(table, encoded.table) << describe(g);
    }
  }
}

/// 4+2 with fragments of four blocks, the last of them of 12 KiB: two stripes of two blocks a unit.
Encoded four_blocks() { return Encoded({4, 2, 2 * kUnit, 4 * 3 * kBlockBytes + 40'000}); }

TEST(ObjectCodec, NoticesAFlippedBitInAnySource) {
  Encoded encoded = four_blocks();
  const std::uint64_t seed = seed_or(9);
  SCOPED_TRACE("CAIRN_SEED=" + std::to_string(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 50; ++i) {
    Rebuild rebuild = Rebuild::whole(encoded, {1, 2, 3, 4}, {0});
    Buffer& victim = encoded.fragments[rebuild.sources[random.below(4)]];
    const std::uint64_t at = random.below(victim.size());
    const std::byte bit{static_cast<std::uint8_t>(1u << random.below(8))};
    victim[at] ^= bit;
    const Status done = rebuild.run(encoded);
    EXPECT_EQ(done.code(), Code::kCorrupt) << "byte " << at;
    EXPECT_EQ(done.reason(), Reason::kHashMismatch) << done.to_string();
    victim[at] ^= bit;
  }
}

TEST(ObjectCodec, RebuildsEveryRunOfBlocks) {
  const Encoded encoded = four_blocks();
  const std::uint32_t blocks = layout::fragment_blocks(encoded.geometry);
  ASSERT_EQ(blocks, 4u);
  ASSERT_EQ(layout::fragment_bytes(encoded.geometry), 3 * kBlockBytes + 3 * kPageBytes);
  for (std::uint32_t first = 0; first < blocks; ++first) {
    for (std::uint32_t end = first + 1; end <= blocks; ++end) {
      Rebuild rebuild = Rebuild::blocks(encoded, {5, 2, 4, 0}, {1, 3}, first, end);
      const Status done = rebuild.run(encoded);
      ASSERT_TRUE(done.ok()) << first << " to " << end << ' ' << done.to_string();
      EXPECT_TRUE(rebuild.agrees(encoded)) << first << " to " << end;
    }
  }
}

TEST(ObjectCodec, NoticesAFlippedBitInARunOfBlocksAndNowhereElse) {
  Encoded encoded = four_blocks();
  for (std::uint32_t damaged = 0; damaged < 4; ++damaged) {
    encoded.fragments[5][damaged * kBlockBytes + 12'287] ^= std::byte{0x80};
    for (std::uint32_t block = 0; block < 4; ++block) {
      Rebuild rebuild = Rebuild::blocks(encoded, {5, 2, 4, 0}, {1, 3}, block, block + 1);
      const Status done = rebuild.run(encoded);
      if (block != damaged) {
        EXPECT_TRUE(done.ok()) << done.to_string();
        continue;
      }
      EXPECT_EQ(done.reason(), Reason::kHashMismatch) << done.to_string();
      EXPECT_NE(done.message().find("block " + std::to_string(block) + " of"),
                std::string_view::npos)
          << done.message();
    }
    encoded.fragments[5][damaged * kBlockBytes + 12'287] ^= std::byte{0x80};
  }
}

TEST(ObjectCodec, RefusesARunOfBlocksThatBelongsElsewhere) {
  const Encoded encoded = four_blocks();
  Rebuild rebuild = Rebuild::blocks(encoded, {5, 2, 4, 0}, {1, 3}, 1, 2);
  rebuild.first_block = 2;  // the bytes of block 1 as if they were block 2
  EXPECT_EQ(rebuild.run(encoded).reason(), Reason::kHashMismatch);
}

TEST(ObjectCodec, RefusesARepairWithTooFewSources) {
  const Encoded encoded = four_blocks();
  Rebuild rebuild = Rebuild::whole(encoded, {5, 2, 4}, {1});
  EXPECT_EQ(rebuild.run(encoded).code(), Code::kInvalid);
}

TEST(HashTable, RefusesBlocksInAnotherPlace) {
  const layout::Geometry g{2, 1, kUnit, 4 * kBlockBytes};
  const Encoded encoded(g);
  const Bytes block = Bytes(encoded.fragments[0]).first(kBlockBytes);
  EXPECT_TRUE(verify_blocks(encoded.view(), kObject, 0, 0, block).ok());
  EXPECT_EQ(verify_blocks(encoded.view(), kObject, 0, 1, block).code(), Code::kCorrupt);
  EXPECT_EQ(verify_blocks(encoded.view(), kObject, 1, 0, block).code(), Code::kCorrupt);
  EXPECT_EQ(verify_blocks(encoded.view(), {42, 8}, 0, 0, block).code(), Code::kCorrupt);
}

TEST(HashTable, OfAnotherLengthIsRefused) {
  const layout::Geometry g{2, 1, kUnit, 4 * kBlockBytes};
  const Buffer table(layout::table_bytes(g) - 8);
  const auto view = HashTableView::make(table, g);
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().code(), Code::kCorrupt);
}

/// Hash of parity and table of a fixed object: these values are the format.
TEST(ObjectCodec, HasTheGoldenParityAndTable) {
  const struct {
    layout::Geometry geometry;
    std::uint64_t parity;
    std::uint64_t table;
  } golden[] = {
      {{1, 2, kUnit, 100'000}, 3597485533502666250ULL, 2580248209495295873ULL},
      {{2, 1, kUnit, 200'000}, 15655478751205632149ULL, 145163589731997576ULL},
      {{4, 2, kUnit, 1'000'000}, 15182726817520714942ULL, 541716855670653097ULL},
      {{4, 2, 4 * kUnit, 3'000'001}, 10799191458324018614ULL, 1717093545397331564ULL},
      {{8, 2, kUnit, 1}, 1611022265244648210ULL, 17271037775137456795ULL},
      {{8, 2, kUnit, 1'000'000}, 16115680207206651684ULL, 17856430357003616688ULL},
      {{8, 3, kUnit, 1'000'000}, 4487590785121336247ULL, 3074416885850761287ULL},
      {{16, 4, kUnit, 2'000'000}, 9307850316907625053ULL, 10406193708720628115ULL},
  };
  for (const auto& [g, parity, table] : golden) {
    const Encoded encoded(g);
    std::uint64_t hash = 0;
    for (std::uint32_t i = g.data; i < g.fragments(); ++i) {
      hash = hash64(encoded.fragments[i], hash);
    }
    EXPECT_EQ(hash, parity) << describe(g);
    EXPECT_EQ(hash64(encoded.table), table) << describe(g);
  }
}

}  // namespace
}  // namespace cairn::codec

// Erasure code and hash table: every loss that must be repaired is, and nothing wrong gets through.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/codec/object_codec.h"

namespace cairn::codec {
namespace {

using Buffer = std::vector<std::byte>;

constexpr ObjectId kObject{42, 7};
constexpr auto kUnit = static_cast<std::uint32_t>(kBlockBytes);

Buffer random_bytes(std::uint64_t bytes, std::uint64_t seed) {
  Buffer out(bytes);
  SplitMix64 random(seed);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random.next());
  return out;
}

/// One object with all its fragments as they would lie on targets.
struct Encoded {
  explicit Encoded(const layout::Geometry& g)
      : geometry(g),
        object(random_bytes(g.object_bytes, g.object_bytes + g.data)),
        code(g.data, g.parity),
        table(layout::table_bytes(g)) {
    const std::uint64_t bytes = layout::fragment_bytes(g);
    fragments.assign(g.fragments(), Buffer(bytes));
    std::vector<MutableBytes> parity(fragments.begin() + g.data, fragments.end());
    ObjectCodec(code, g, kObject).encode(object, parity, table);
    for (std::uint32_t i = 0; i < g.data; ++i) {
      std::size_t at = 0;
      for (const Bytes run : data_runs(object, g, i)) {
        std::ranges::copy(run, fragments[i].begin() + static_cast<std::ptrdiff_t>(at));
        at += run.size();
      }
    }
  }
  HashTableView view() const { return *HashTableView::make(table, geometry); }

  layout::Geometry geometry;
  Buffer object;
  ErasureCode code;
  Buffer table;
  std::vector<Buffer> fragments;
};

std::vector<layout::Geometry> geometries(std::uint64_t object_bytes) {
  std::vector<layout::Geometry> out;
  for (const auto& [k, m] : std::vector<std::pair<int, int>>{
           {1, 0}, {2, 1}, {4, 2}, {8, 2}, {8, 3}, {1, 3}, {10, 4}, {16, 4}}) {
    out.push_back(
        {static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(m), kUnit, object_bytes});
  }
  return out;
}

std::string describe(const layout::Geometry& g) {
  return std::to_string(g.data) + "+" + std::to_string(g.parity) + " of " +
         std::to_string(g.object_bytes);
}

TEST(ErasureCode, RestoresEveryLossOfUpToMFragments) {
  for (const layout::Geometry& g : geometries(70'000)) {
    const Encoded encoded(g);
    const std::uint32_t n = g.fragments();
    for (std::uint32_t lost = 1; lost < (1u << n); ++lost) {
      if (std::popcount(lost) > g.parity) continue;
      std::vector<std::uint32_t> sources, wanted;
      std::vector<Bytes> source_bytes;
      for (std::uint32_t i = 0; i < n; ++i) {
        if ((lost >> i & 1) != 0) {
          wanted.push_back(i);
        } else if (sources.size() < g.data) {
          sources.push_back(i);
          source_bytes.push_back(encoded.fragments[i]);
        }
      }
      std::vector<Buffer> rebuilt(wanted.size(), Buffer(layout::fragment_bytes(g)));
      const std::vector<MutableBytes> outputs(rebuilt.begin(), rebuilt.end());
      const Status done = ObjectCodec(encoded.code, g, kObject)
                              .reconstruct(sources, source_bytes, wanted, outputs, encoded.view());
      ASSERT_TRUE(done.ok()) << describe(g) << ' ' << done.to_string();
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_EQ(rebuilt[i], encoded.fragments[wanted[i]]) << describe(g) << " lost " << lost;
      }
    }
  }
}

TEST(ErasureCode, WithOneDataFragmentMakesCopies) {
  const Encoded encoded({1, 3, kUnit, 100'000});
  for (const Buffer& fragment : encoded.fragments) EXPECT_EQ(fragment, encoded.fragments[0]);
}

TEST(ErasureCode, RefusesImpossibleSetsOfSources) {
  const ErasureCode code(4, 2);
  const std::uint32_t few[] = {0, 1, 2}, twice[] = {0, 1, 1, 2}, beyond[] = {0, 1, 2, 6};
  const std::uint32_t wanted[] = {3};
  for (const std::span<const std::uint32_t> sources :
       {std::span<const std::uint32_t>(few), std::span<const std::uint32_t>(twice),
        std::span<const std::uint32_t>(beyond)}) {
    const auto decoder = code.make_decoder(sources, wanted);
    ASSERT_FALSE(decoder.has_value());
    EXPECT_EQ(decoder.error().code(), Code::kInvalid);
  }
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

TEST(ObjectCodec, NoticesAFlippedBitInAnySource) {
  const layout::Geometry g{4, 2, kUnit, 300'000};
  Encoded encoded(g);
  const std::vector<std::uint32_t> sources = {1, 2, 3, 4}, wanted = {0};
  SplitMix64 random(9);
  for (int i = 0; i < 50; ++i) {
    Buffer& victim = encoded.fragments[sources[random.below(4)]];
    const std::uint64_t at = random.below(victim.size());
    victim[at] ^= std::byte{0x10};
    std::vector<Bytes> bytes;
    for (const std::uint32_t source : sources) bytes.emplace_back(encoded.fragments[source]);
    Buffer rebuilt(layout::fragment_bytes(g));
    const MutableBytes outputs[] = {rebuilt};
    const Status done = ObjectCodec(encoded.code, g, kObject)
                            .reconstruct(sources, bytes, wanted, outputs, encoded.view());
    EXPECT_EQ(done.reason(), Reason::kHashMismatch) << done.to_string();
    victim[at] ^= std::byte{0x10};
  }
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
      {{2, 1, kUnit, 200'000}, 15655478751205632149ULL, 145163589731997576ULL},
      {{4, 2, kUnit, 1'000'000}, 15182726817520714942ULL, 541716855670653097ULL},
      {{8, 3, kUnit, 1'000'000}, 4487590785121336247ULL, 3074416885850761287ULL},
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

// The erasure code against plain arithmetic of its definition, and every loss that it must repair.
#include "engine/codec/erasure.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "tests/unit/codec/encoded_object.h"

namespace cairn::codec {
namespace {

/// The format's definition once more, with nothing of the code under test: multiplication bit by
/// bit modulo x^8+x^4+x^3+x^2+1, the inverse by search, one byte at a time.
namespace plain {

std::uint8_t multiply(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0;
  for (int bit = 7; bit >= 0; --bit) {
    product <<= 1;
    if ((product & 0x100) != 0) product ^= 0x11d;
    if ((b >> bit & 1) != 0) product ^= a;
  }
  return static_cast<std::uint8_t>(product);
}

std::uint8_t inverse(std::uint8_t a) {
  unsigned candidate = 1;
  while (multiply(a, static_cast<std::uint8_t>(candidate)) != 1) ++candidate;
  return static_cast<std::uint8_t>(candidate);
}

/// What data fragment `i` is multiplied by for fragment `row`.
std::uint8_t coefficient(std::uint32_t k, std::uint32_t row, std::uint32_t i) {
  if (k == 1) return 1;
  if (row < k) return row == i ? 1 : 0;
  return inverse(static_cast<std::uint8_t>(row ^ i));
}

/// All fragments of an object: data by the layout's rule for single bytes, parity by the matrix.
std::vector<Buffer> fragments(Bytes object, const layout::Geometry& g) {
  std::vector<Buffer> out(g.fragments(), Buffer(layout::fragment_bytes(g)));
  for (std::uint64_t x = 0; x < object.size(); ++x) {
    const layout::Place place = layout::locate(g, x);
    out[place.fragment][place.offset] = object[x];
  }
  for (std::uint32_t row = g.data; row < g.fragments(); ++row) {
    for (std::uint32_t i = 0; i < g.data; ++i) {
      std::array<std::byte, 256> times;
      for (unsigned value = 0; value < 256; ++value) {
        times[value] =
            std::byte{multiply(static_cast<std::uint8_t>(value), coefficient(g.data, row, i))};
      }
      for (std::size_t at = 0; at < out[row].size(); ++at) {
        out[row][at] ^= times[std::to_integer<std::uint8_t>(out[i][at])];
      }
    }
  }
  return out;
}

}  // namespace plain

using Shape = std::pair<std::uint8_t, std::uint8_t>;

TEST(PlainArithmetic, IsAField) {
  EXPECT_EQ(plain::multiply(0x80, 2), 0x1d);  // the polynomial, by hand
  for (unsigned a = 1; a < 256; ++a) {
    const auto byte = static_cast<std::uint8_t>(a);
    EXPECT_EQ(plain::multiply(byte, 1), byte);
    EXPECT_EQ(plain::inverse(plain::inverse(byte)), byte);
  }
}

TEST(ErasureCode, IsTheCauchyMatrixOfItsDefinition) {
  for (std::uint32_t k = 1; k <= kDataFragmentsMax; ++k) {
    const ErasureCode code(k, kParityFragmentsMax);
    std::vector<std::uint32_t> data(k), all(k + kParityFragmentsMax);
    std::iota(data.begin(), data.end(), 0);
    std::iota(all.begin(), all.end(), 0);
    const auto decoder = code.make_decoder(data, all);
    ASSERT_TRUE(decoder.has_value());
    for (std::uint32_t column = 0; column < k; ++column) {
      // A one in one data fragment makes that column of the matrix visible; 32 equal bytes,
      // because shorter pieces may take another path through the library.
      std::vector<Buffer> in(k, Buffer(32)), out(all.size(), Buffer(32));
      std::ranges::fill(in[column], std::byte{1});
      const std::vector<Bytes> from(in.begin(), in.end());
      const std::vector<MutableBytes> to(out.begin(), out.end());
      decoder->decode(from, to);
      for (std::uint32_t row = 0; row < all.size(); ++row) {
        const Buffer expected(32, std::byte{plain::coefficient(k, row, column)});
        EXPECT_EQ(out[row], expected) << "k " << k << " row " << row << " column " << column;
      }
    }
  }
}

TEST(ErasureCode, MakesTheParityOfPlainArithmetic) {
  for (const auto& [k, m] : std::vector<Shape>{
           {1, 0}, {1, 2}, {2, 1}, {3, 4}, {4, 2}, {8, 2}, {8, 3}, {10, 4}, {16, 4}}) {
    for (const std::uint64_t bytes : {1ul, 4097ul, 70'000ul, 700'001ul}) {
      const Encoded encoded({k, m, kUnit, bytes});
      EXPECT_TRUE(encoded.fragments == plain::fragments(encoded.object, encoded.geometry))
          << describe(encoded.geometry);
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

/// Loses every set of at most m fragments and rebuilds it from k random survivors in random order.
void expect_every_loss_repaired(const Encoded& encoded, SplitMix64& random) {
  const layout::Geometry& g = encoded.geometry;
  for (std::uint32_t lost = 1; lost < (1u << g.fragments()); ++lost) {
    if (std::popcount(lost) > g.parity) continue;
    std::vector<std::uint32_t> left, wanted;
    for (std::uint32_t i = 0; i < g.fragments(); ++i) {
      ((lost >> i & 1) != 0 ? wanted : left).push_back(i);
    }
    for (std::size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[random.below(i)]);
    left.resize(g.data);
    Rebuild rebuild = Rebuild::whole(encoded, left, wanted);
    const Status done = rebuild.run(encoded);
    ASSERT_TRUE(done.ok()) << describe(g) << " lost " << lost << ' ' << done.to_string();
    ASSERT_TRUE(rebuild.agrees(encoded)) << describe(g) << " lost " << lost;
  }
}

constexpr Shape kShapes[] = {{1, 0}, {1, 2}, {2, 1}, {4, 2}, {8, 2}, {8, 3}};

TEST(ErasureCode, RepairsEveryLossAtTheEdgesOfPagesBlocksAndStripes) {
  const std::uint64_t seed = seed_or(1);
  SCOPED_TRACE("CAIRN_SEED=" + std::to_string(seed));
  SplitMix64 random(seed);
  for (const auto& [k, m] : kShapes) {
    const std::uint64_t stripe = std::uint64_t{k} * kUnit;
    for (const std::uint64_t edge : {kPageBytes, kBlockBytes, stripe, k * kPageBytes}) {
      for (const std::uint64_t bytes : {edge - 1, edge, edge + 1}) {
        expect_every_loss_repaired(Encoded({k, m, kUnit, bytes}), random);
      }
    }
    expect_every_loss_repaired(Encoded({k, m, kUnit, 1}), random);
  }
}

TEST(ErasureCode, RepairsEveryLossOfObjectsOfRandomSizes) {
  const std::uint64_t seed = seed_or(2);
  SCOPED_TRACE("CAIRN_SEED=" + std::to_string(seed));
  SplitMix64 random(seed);
  for (int round = 0; round < 4; ++round) {
    for (const auto& [k, m] : kShapes) {
      const std::uint64_t bytes = random.between(1, 2 * k * kBlockBytes + kBlockBytes);
      expect_every_loss_repaired(Encoded({k, m, kUnit, bytes}), random);
    }
  }
}

TEST(ErasureCode, RepairsEveryLossOfTheWidestCodes) {
  SplitMix64 random(3);
  expect_every_loss_repaired(Encoded({10, 4, kUnit, 10'000}), random);
  expect_every_loss_repaired(Encoded({16, 4, kUnit, 10'000}), random);
}

}  // namespace
}  // namespace cairn::codec

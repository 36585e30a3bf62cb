// The arithmetic of objects and fragments: golden vectors pin the format, properties hold for
// random geometries.
#include "engine/layout/geometry.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/random.h"

namespace cairn::layout {
namespace {

std::string name_of(const Geometry& g) {
  return std::to_string(g.data) + "+" + std::to_string(g.parity) + ", unit " +
         std::to_string(g.unit_bytes) + ", object " + std::to_string(g.object_bytes);
}

Geometry geometry(std::uint8_t k, std::uint8_t m, std::uint64_t object_bytes,
                  std::uint64_t unit_bytes = kUnitBytesDefault) {
  return {k, m, static_cast<std::uint32_t>(unit_bytes), object_bytes};
}

struct Golden {
  Geometry geometry;
  std::uint64_t fragment_bytes;
  std::uint64_t tail_unit_bytes;
  std::uint32_t fragment_blocks;
  std::uint64_t table_bytes;
};

// Worked out by hand from the rule on top of geometry.h.
const Golden kGolden[] = {
    {geometry(1, 0, 0), 0, 0, 0, 0},
    {geometry(1, 0, 1), 4096, 4096, 1, 8},
    {geometry(1, 0, 4095), 4096, 4096, 1, 8},
    {geometry(1, 0, 4096), 4096, 4096, 1, 8},
    {geometry(1, 0, 4097), 8192, 8192, 1, 8},
    {geometry(1, 0, 64 * kMiB), 67108864, 0, 1024, 8192},
    {geometry(1, 3, 64 * kMiB), 67108864, 0, 1024, 32768},
    {geometry(2, 1, 0), 0, 0, 0, 0},
    {geometry(2, 1, 1), 4096, 4096, 1, 24},
    {geometry(2, 1, 4095), 4096, 4096, 1, 24},
    {geometry(2, 1, 4096), 4096, 4096, 1, 24},
    {geometry(2, 1, 4097), 4096, 4096, 1, 24},
    {geometry(2, 1, 8193), 8192, 8192, 1, 24},
    {geometry(2, 1, 64 * kMiB), 33554432, 0, 512, 12288},
    {geometry(4, 2, 0), 0, 0, 0, 0},
    {geometry(4, 2, 1), 4096, 4096, 1, 48},
    {geometry(4, 2, 4095), 4096, 4096, 1, 48},
    {geometry(4, 2, 4096), 4096, 4096, 1, 48},
    {geometry(4, 2, 4097), 4096, 4096, 1, 48},
    {geometry(4, 2, 1048575), 262144, 262144, 4, 192},
    {geometry(4, 2, 1048576), 262144, 0, 4, 192},
    {geometry(4, 2, 1048581), 266240, 4096, 5, 240},
    {geometry(4, 2, 1148576), 290816, 28672, 5, 240},
    {geometry(4, 2, 64 * kMiB), 16777216, 0, 256, 12288},
    {geometry(8, 2, 1), 4096, 4096, 1, 80},
    {geometry(8, 2, 4097), 4096, 4096, 1, 80},
    {geometry(8, 2, 64 * kMiB), 8388608, 0, 128, 10240},
    {geometry(8, 2, 64 * kMiB - 1), 8388608, 262144, 128, 10240},
    {geometry(8, 3, 4096), 4096, 4096, 1, 88},
    {geometry(8, 3, 64 * kMiB), 8388608, 0, 128, 11264},
};

TEST(Geometry, LengthsAreThoseOfTheFormat) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(name_of(golden.geometry));
    EXPECT_TRUE(validate(golden.geometry).ok());
    EXPECT_EQ(fragment_bytes(golden.geometry), golden.fragment_bytes);
    EXPECT_EQ(tail_unit_bytes(golden.geometry), golden.tail_unit_bytes);
    EXPECT_EQ(fragment_blocks(golden.geometry), golden.fragment_blocks);
    EXPECT_EQ(table_bytes(golden.geometry), golden.table_bytes);
  }
}

TEST(Geometry, PlacesAreThoseOfTheFormat) {
  const Geometry full = geometry(4, 2, 64 * kMiB);
  EXPECT_EQ(locate(full, 0), (Place{0, 0}));
  EXPECT_EQ(locate(full, 262143), (Place{0, 262143}));
  EXPECT_EQ(locate(full, 262144), (Place{1, 0}));
  EXPECT_EQ(locate(full, 1048576), (Place{0, 262144}));
  EXPECT_EQ(locate(full, 64 * kMiB - 1), (Place{3, 16777215}));

  const Geometry tail = geometry(4, 2, 1148576);  // a stripe, then 100,000 bytes in units of 28,672
  EXPECT_EQ(locate(tail, 1048575), (Place{3, 262143}));
  EXPECT_EQ(locate(tail, 1048576), (Place{0, 262144}));
  EXPECT_EQ(locate(tail, 1048576 + 28671), (Place{0, 290815}));
  EXPECT_EQ(locate(tail, 1048576 + 28672), (Place{1, 262144}));
  EXPECT_EQ(locate(tail, 1148575), (Place{3, 276127}));

  EXPECT_EQ(locate(geometry(8, 2, 4097), 4096), (Place{1, 0}));
  EXPECT_EQ(locate(geometry(1, 0, 4097), 4096), (Place{0, 4096}));
  EXPECT_EQ(locate(geometry(8, 3, 64 * kMiB), 2097152), (Place{0, 262144}));
}

TEST(Geometry, PaddingLiesBeyondTheObject) {
  const Geometry g = geometry(4, 2, 1);
  EXPECT_EQ(object_offset(g, {0, 0}), 0u);
  EXPECT_EQ(object_offset(g, {0, 1}), 1u);
  EXPECT_GE(object_offset(g, {1, 0}), g.object_bytes);
  EXPECT_GE(object_offset(g, {3, 4095}), g.object_bytes);
}

/// A legal geometry; `object_bytes_max` keeps exhaustive walks short.
Geometry random_geometry(SplitMix64& random, std::uint64_t object_bytes_max) {
  while (true) {
    Geometry g = geometry(static_cast<std::uint8_t>(random.between(1, kDataFragmentsMax)),
                          static_cast<std::uint8_t>(random.between(0, kParityFragmentsMax)),
                          random.between(0, object_bytes_max),
                          kBlockBytes * random.between(1, kUnitBytesMax / kBlockBytes));
    if (random.one_in(4)) g.object_bytes = round_down(g.object_bytes, kPageBytes);
    if (random.one_in(8)) g.object_bytes = object_bytes_max;
    if (validate(g).ok()) return g;
  }
}

std::uint64_t seed_of_this_run() {
  const char* seed = std::getenv("CAIRN_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
}

TEST(Geometry, BoundsHoldForRandomGeometries) {
  const std::uint64_t seed = seed_of_this_run();
  SCOPED_TRACE("CAIRN_SEED=" + std::to_string(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const Geometry g = random_geometry(random, kObjectBytesMax);
    const std::uint64_t bytes = fragment_bytes(g);
    ASSERT_EQ(bytes % kPageBytes, 0u) << name_of(g);
    ASSERT_LE(bytes, kFragmentBytesMax) << name_of(g);
    ASSERT_GE(bytes * g.data, g.object_bytes) << name_of(g);
    ASSERT_LT(bytes * g.data - g.object_bytes, g.data * kPageBytes) << name_of(g);
    ASSERT_LE(tail_unit_bytes(g), g.unit_bytes) << name_of(g);
    ASSERT_LE(table_bytes(g), kHashTableBytesMax) << name_of(g);
  }
}

TEST(Geometry, ObjectOffsetInvertsLocate) {
  const std::uint64_t seed = seed_of_this_run();
  SCOPED_TRACE("CAIRN_SEED=" + std::to_string(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const Geometry g = random_geometry(random, kObjectBytesMax);
    if (g.object_bytes == 0) continue;
    for (const std::uint64_t x :
         {std::uint64_t{0}, g.object_bytes - 1, random.below(g.object_bytes)}) {
      const Place place = locate(g, x);
      ASSERT_LT(place.fragment, g.data) << name_of(g) << ", byte " << x;
      ASSERT_LT(place.offset, fragment_bytes(g)) << name_of(g) << ", byte " << x;
      ASSERT_EQ(object_offset(g, place), x) << name_of(g);
    }
  }
}

TEST(Geometry, EveryByteOfDataFragmentsIsOneByteOfTheObjectOrPadding) {
  const std::uint64_t seed = seed_of_this_run();
  SCOPED_TRACE("CAIRN_SEED=" + std::to_string(seed));
  SplitMix64 random(seed);
  for (int i = 0; i < 6; ++i) {
    const Geometry g = random_geometry(random, 1 * kMiB);
    std::vector<bool> seen(g.object_bytes);
    std::uint64_t found = 0;
    for (std::uint32_t fragment = 0; fragment < g.data; ++fragment) {
      for (std::uint64_t offset = 0; offset < fragment_bytes(g); ++offset) {
        const std::uint64_t x = object_offset(g, {fragment, offset});
        if (x >= g.object_bytes) continue;
        ASSERT_FALSE(seen[x]) << name_of(g) << ": byte " << x << " is twice";
        seen[x] = true;
        ++found;
        ASSERT_EQ(locate(g, x), (Place{fragment, offset})) << name_of(g);
      }
    }
    EXPECT_EQ(found, g.object_bytes) << name_of(g);
  }
}

TEST(Geometry, TablesOfAllLegalGeometriesFitTheirLimit) {
  for (std::uint8_t k = 1; k <= kDataFragmentsMax; ++k) {
    for (std::uint8_t m = 0; m <= kParityFragmentsMax; ++m) {
      const Geometry g = geometry(k, m, kObjectBytesMax);
      EXPECT_EQ(validate(g).ok(), table_bytes(g) <= kHashTableBytesMax) << name_of(g);
    }
  }
  const Status refused = validate(geometry(1, 4, kObjectBytesMax));
  EXPECT_EQ(refused.code(), Code::kInvalid);
  EXPECT_EQ(refused.reason(), Reason::kTooLarge);
}

TEST(Geometry, RefusesWhatTheFormatDoesNotHaveAndNamesTheField) {
  struct Case {
    Geometry geometry;
    const char* word;
  };
  const Case cases[] = {
      {geometry(0, 2, 1), "k is 0"},
      {geometry(17, 2, 1), "k is 17"},
      {geometry(4, 5, 1), "m is 5"},
      {geometry(4, 2, 1, 0), "unit_bytes is 0"},
      {geometry(4, 2, 1, kBlockBytes + kPageBytes), "unit_bytes is 69632"},
      {geometry(4, 2, 1, kUnitBytesMax + kBlockBytes), "unit_bytes"},
      {geometry(4, 2, kObjectBytesMax + 1), "object_bytes is 67108865"},
  };
  for (const Case& c : cases) {
    const Status status = validate(c.geometry);
    EXPECT_EQ(status.code(), Code::kInvalid) << name_of(c.geometry);
    EXPECT_NE(status.message().find(c.word), std::string_view::npos) << status.message();
  }
}

}  // namespace
}  // namespace cairn::layout

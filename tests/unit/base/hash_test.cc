// XXH3-64: known values, equal kernels, and seeds that depend on the place.
#include "engine/base/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <vector>

#include "engine/base/hash_kernels.h"
#include "engine/base/random.h"

namespace cairn {
namespace {

TEST(Hash, HasTheValuesThatItsAuthorPublishes) {
  // XXH3_64bits of the empty input, seed 0 (xxHash specification).
  EXPECT_EQ(hash64({}), 0x2d06800538d394c2ULL);
}

TEST(Hash, HasTheValuesOfThePackagedLibrary) {
  EXPECT_EQ(hash64(as_bytes("abc")), 0x78af5f94892f3950ULL);  // XXH3_64bits of libxxhash 0.8
}

/// Lengths on both sides of every change of method inside XXH3; values of the packaged library.
TEST(Hash, HasTheGoldenValuesOfEveryRangeOfLengths) {
  const struct {
    std::size_t length;
    std::uint64_t plain;
    std::uint64_t seeded;
  } golden[] = {
      {1, 0xc44bdff4074eecdb, 0xd5dd68911c7f195d},
      {16, 0x0a0ec5ae8679cb7f, 0x2eb982afb5716ba9},
      {17, 0x57c52d21ce492c1e, 0x0cd78a4269e05cfc},
      {128, 0x696069c4f1e6a91a, 0xb03707457c59dc50},
      {129, 0xb1ada52285757beb, 0x642fc6ae6a6706fd},
      {240, 0xb80284837259eee4, 0x4133dbedc32fbb41},
      {241, 0x44dbd3180a664e27, 0x461de164de799bf3},
      {1024, 0xc6c700c409d40c4b, 0x6b04f44d2f4a4d36},
      {1025, 0x3ef78c3256f23450, 0xea5ec93268435504},
      {65536, 0x513812aaf46c6769, 0x4c987062733fa0f8},
  };
  std::vector<std::byte> data(65536);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>(i * 131 + i / 256);
  }
  for (const auto& [length, plain, seeded] : golden) {
    EXPECT_EQ(hash64(Bytes(data).first(length)), plain) << length;
    EXPECT_EQ(hash64(Bytes(data).first(length), 0x0123456789abcdef), seeded) << length;
  }
}

TEST(Hash, IsTheSameFromBothKernels) {
  constexpr std::uint64_t kSeed = 11;
  std::vector<std::byte> data(2048 + 64);
  SplitMix64 random(kSeed);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.next());
  for (std::size_t length = 0; length <= 2048; ++length) {
    const std::size_t at = random.below(64);
    const std::uint64_t seed = random.one_in(2) ? random.next() : 0;
    const std::uint64_t portable = internal::hash64_portable(data.data() + at, length, seed);
    EXPECT_EQ(hash64(Bytes(data).subspan(at, length), seed), portable)
        << "length " << length << " at " << at << ", test seed " << kSeed;
  }
}

/// Lengths around the internal buffer of 256 bytes and the stripes of 1 KiB, cut at random.
TEST(HashStream, HasTheHashOfTheWholeHoweverItIsCut) {
  constexpr std::uint64_t kSeed = 12;
  SplitMix64 random(kSeed);
  std::vector<std::byte> data(70'000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.next());
  for (int round = 0; round < 500; ++round) {
    const Bytes whole = Bytes(data).first(random.below(random.one_in(4) ? data.size() : 1300));
    const std::uint64_t seed = random.one_in(2) ? random.next() : 0;
    Hash64Stream stream(seed);
    internal::HashStreamKernel portable = internal::kHashStreamPortable;
    alignas(64) std::array<std::byte, 576> state;
    portable.start(state.data(), seed);
    for (Bytes rest = whole; !rest.empty();) {
      const Bytes piece = rest.first(random.between(1, std::min<std::size_t>(rest.size(), 3000)));
      stream.add(piece);
      portable.add(state.data(), piece.data(), piece.size());
      rest = rest.subspan(piece.size());
    }
    EXPECT_EQ(stream.value(), hash64(whole, seed)) << whole.size() << ", test seed " << kSeed;
    EXPECT_EQ(portable.value(state.data()), hash64(whole, seed)) << whole.size();
  }
}

/// XXH3's state remembers its seed and makes the secret only when that changes.
TEST(HashStream, StartsAnewWhateverItsMemoryHeld) {
  const std::vector<std::byte> data(1000, std::byte{7});
  Hash64Stream stream(5);
  for (std::byte& byte : std::as_writable_bytes(std::span(&stream, 1)).first(400)) {
    byte ^= std::byte{1};  // the secret, not the seed, which lies behind it
  }
  stream.start(5);
  stream.add(data);
  EXPECT_EQ(stream.value(), hash64(data, 5));
  stream.start(6);
  stream.add(data);
  EXPECT_EQ(stream.value(), hash64(data, 6));
}

TEST(BlockSeed, HasTheGoldenValuesOfTheFormat) {
  EXPECT_EQ(block_seed({0, 0}, 0, 0), 0x743df94ee4c78a2aULL);
  EXPECT_EQ(block_seed({42, 7}, 3, 1), 0x2a859c1550d9ff69ULL);
  EXPECT_EQ(block_seed({0xfedcba9876543210, 1ULL << 63}, 19, 1023), 0x0a1f1324c4771eb7ULL);
}

TEST(BlockSeed, DiffersForEveryPlace) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t incarnation : {1, 2}) {
    for (std::uint64_t counter : {1, 2}) {
      for (std::uint32_t fragment = 0; fragment < 12; ++fragment) {
        for (std::uint32_t block = 0; block < 64; ++block) {
          EXPECT_TRUE(seen.insert(block_seed({incarnation, counter}, fragment, block)).second);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cairn

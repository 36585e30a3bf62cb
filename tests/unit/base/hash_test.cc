// XXH3-64: known values, equal kernels, and seeds that depend on the place.
#include "engine/base/hash.h"

#include <gtest/gtest.h>

#include <set>
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

TEST(Hash, IsTheSameFromBothKernels) {
  std::vector<std::byte> data(4096 + 64);
  SplitMix64 random(11);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.next());
  for (std::size_t length = 0; length <= 2048; ++length) {
    const std::size_t at = random.below(64);
    const std::uint64_t seed = random.one_in(2) ? random.next() : 0;
    const std::uint64_t portable = internal::hash64_portable(data.data() + at, length, seed);
    EXPECT_EQ(hash64(Bytes(data).subspan(at, length), seed), portable) << length;
  }
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

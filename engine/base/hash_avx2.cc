// Compiled with -mavx2 where the CPU family may have it; elsewhere the same code again, never
// chosen.
#define XXH_INLINE_ALL
#ifdef __AVX2__
#define XXH_VECTOR XXH_AVX2
#endif
#include <xxhash.h>

#include "engine/base/hash_kernels.h"

namespace cairn::internal {

std::uint64_t hash64_avx2(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

}  // namespace cairn::internal

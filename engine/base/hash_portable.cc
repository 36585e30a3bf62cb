#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/base/hash_kernels.h"

namespace cairn::internal {

std::uint64_t hash64_portable(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

}  // namespace cairn::internal

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

constinit const HashStreamKernel kHashStreamAvx2 = {
    .start =
        [](void* state, std::uint64_t seed) noexcept {
          auto* xxh = static_cast<XXH3_state_t*>(state);
          XXH3_INITSTATE(xxh);  // else a reset trusts the secret of whatever seed lay there before
          XXH3_64bits_reset_withSeed(xxh, seed);
        },
    .add =
        [](void* state, const void* data, std::size_t bytes) noexcept {
          XXH3_64bits_update(static_cast<XXH3_state_t*>(state), data, bytes);
        },
    .value = [](const void* state) noexcept -> std::uint64_t {
      return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state));
    },
};
static_assert(sizeof(XXH3_state_t) == 576 && alignof(XXH3_state_t) == 64);

}  // namespace cairn::internal

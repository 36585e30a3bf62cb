#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/base/hash_kernels.h"

namespace cairn::internal {

std::uint64_t hash64_portable(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

constinit const HashStreamKernel kHashStreamPortable = {
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

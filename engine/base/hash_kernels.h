// The two compilations of XXH3-64 and of its streaming form, for hash.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::internal {

using HashKernel = std::uint64_t (*)(const void* data, std::size_t bytes, std::uint64_t seed);

std::uint64_t hash64_portable(const void* data, std::size_t bytes, std::uint64_t seed) noexcept;
/// Calls for AVX2 without asking whether the CPU has it.
std::uint64_t hash64_avx2(const void* data, std::size_t bytes, std::uint64_t seed) noexcept;

/// The streaming form; `state` is Hash64Stream's, of 576 bytes at 64.
struct HashStreamKernel {
  void (*start)(void* state, std::uint64_t seed) noexcept;
  void (*add)(void* state, const void* data, std::size_t bytes) noexcept;
  std::uint64_t (*value)(const void* state) noexcept;
};
extern const HashStreamKernel kHashStreamPortable;
/// Calls for AVX2 like hash64_avx2.
extern const HashStreamKernel kHashStreamAvx2;

}  // namespace cairn::internal

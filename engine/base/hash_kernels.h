// The two compilations of XXH3-64, for hash.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::internal {

using HashKernel = std::uint64_t (*)(const void* data, std::size_t bytes, std::uint64_t seed);

std::uint64_t hash64_portable(const void* data, std::size_t bytes, std::uint64_t seed) noexcept;
/// Calls for AVX2 without asking whether the CPU has it.
std::uint64_t hash64_avx2(const void* data, std::size_t bytes, std::uint64_t seed) noexcept;

}  // namespace cairn::internal

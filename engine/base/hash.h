// XXH3-64 over bytes.  The kernel is compiled for AVX2 in a unit of its own and chosen at run time,
// because the distribution's shared library is built for SSE2 and runs at less than half the speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/bytes.h"
#include "engine/base/ids.h"

namespace cairn {

std::uint64_t hash64(Bytes bytes, std::uint64_t seed = 0) noexcept;

/// hash64 of bytes that come in pieces, for code that does something else with each piece while it
/// is in cache.  Pieces of 1 KiB and more run at nearly the speed of hash64.
class Hash64Stream {
 public:
  explicit Hash64Stream(std::uint64_t seed = 0) noexcept { start(seed); }
  /// Begins anew.
  void start(std::uint64_t seed) noexcept;
  void add(Bytes bytes) noexcept;
  /// Of all bytes so far; more may follow.
  std::uint64_t value() const noexcept;

 private:
  alignas(64) std::array<std::byte, 576> state_;  ///< the kernel's
};

/// Seed of the hash of one 64 KiB block: depends on where the block belongs, so that equal bytes in
/// the wrong object, fragment or position fail too.  Part of the format (docs/formats.md).
std::uint64_t block_seed(const ObjectId& object, std::uint32_t fragment,
                         std::uint32_t block) noexcept;

/// "avx2" or "portable": what hash64 runs on here.
const char* hash_kernel_name() noexcept;

}  // namespace cairn

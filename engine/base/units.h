// Sizes and alignment.  Byte counts are std::uint64_t and named `..._bytes`.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace cairn {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

/// `alignment` is a power of two; `value` + alignment must not overflow.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t alignment) {
  return value & ~(alignment - 1);
}
constexpr bool is_aligned(std::uint64_t value, std::uint64_t alignment) {
  return (value & (alignment - 1)) == 0;
}
constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

/// "1.5 GiB", "64 KiB", "17 B": for people, three significant digits.
std::string format_bytes(std::uint64_t bytes);

/// Reads what people type: "4096", "1GiB", "1.5 GiB", "500GB".  KB, MB, ... are powers of 1000;
/// KiB, MiB, ... and the bare letters K, M, G, T powers of 1024; case does not matter.  Fractions
/// are cut to whole bytes.  kInvalid names the text and what is allowed.
Result<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace cairn

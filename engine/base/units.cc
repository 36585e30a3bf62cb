#include "engine/base/units.h"

#include <array>
#include <cstdio>

namespace cairn {

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t name = 0;
  while (value >= 1024.0 && name + 1 < kNames.size()) {
    value /= 1024.0;
    ++name;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), name == 0 ? "%.0f %s" : "%.3g %s", value, kNames[name]);
  return text.data();
}

}  // namespace cairn

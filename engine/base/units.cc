#include "engine/base/units.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace cairn {
namespace {

struct Unit {
  std::string_view name;  // in lower case
  std::uint64_t bytes;
};

constexpr std::uint64_t kKilo = 1000;
constexpr std::array<Unit, 14> kUnits = {{
    {"", 1},
    {"b", 1},
    {"k", kKiB},
    {"kib", kKiB},
    {"kb", kKilo},
    {"m", kMiB},
    {"mib", kMiB},
    {"mb", kKilo* kKilo},
    {"g", kGiB},
    {"gib", kGiB},
    {"gb", kKilo* kKilo* kKilo},
    {"t", 1024 * kGiB},
    {"tib", 1024 * kGiB},
    {"tb", kKilo* kKilo* kKilo* kKilo},
}};

}  // namespace

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

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const auto refuse = [text](std::string_view why) {
    return fail(Code::kInvalid, "size '" + std::string(text) + "' " + std::string(why) +
                                    "; write a number and B, KiB, MiB, GiB, TiB, KB, MB, GB or TB");
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) {
    return refuse("does not begin with a positive number");
  }
  std::string unit;
  for (const char* c = at; c != end; ++c) {
    if (c == at && *c == ' ') continue;
    unit.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(*c))));
  }
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    // Whole numbers must not lose their last digits to floating point.
    std::uint64_t whole = 0;
    const auto [whole_end, whole_error] = std::from_chars(text.data(), at, whole);
    if (whole_error == std::errc() && whole_end == at) {
      if (whole > UINT64_MAX / known.bytes) return refuse("is too large");
      return whole * known.bytes;
    }
    const double bytes = number * static_cast<double>(known.bytes);
    if (bytes >= 18e18) return refuse("is too large");
    return static_cast<std::uint64_t>(bytes);
  }
  return refuse("has an unknown unit");
}

}  // namespace cairn

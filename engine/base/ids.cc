#include "engine/base/ids.h"

#include <charconv>
#include <cstdio>

namespace cairn {
namespace {

constexpr std::array<std::size_t, 5> kUuidGroups = {4, 2, 2, 2, 6};  // bytes between the dashes

/// Consumes one hexadecimal number that ends at `end` or at the end of the text.
template <class T>
bool take_hex(std::string_view& text, char end, T& out) {
  const std::size_t stop = std::min(text.find(end), text.size());
  const char* last = text.data() + stop;
  const auto [at, error] = std::from_chars(text.data(), last, out, 16);
  if (error != std::errc() || at != last || stop == 0) return false;
  text.remove_prefix(std::min(stop + 1, text.size()));
  return true;
}

}  // namespace

std::string to_string(const ObjectId& id) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%08llx.%08llx",
                static_cast<unsigned long long>(id.incarnation),
                static_cast<unsigned long long>(id.counter));
  return text.data();
}

std::string to_string(const FragmentName& name) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "/%x.%x", name.index, name.placement.value);
  return to_string(name.object) + text.data();
}

std::string to_string(const Uuid& uuid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  std::size_t at = 0;
  for (const std::size_t group : kUuidGroups) {
    if (at != 0) text.push_back('-');
    for (std::size_t i = 0; i < group; ++i, ++at) {
      text.push_back(kDigits[uuid.bytes[at] >> 4]);
      text.push_back(kDigits[uuid.bytes[at] & 15]);
    }
  }
  return text;
}

Result<Uuid> parse_uuid(std::string_view text) {
  Uuid uuid;
  std::size_t at = 0, out = 0;
  bool good = text.size() == 36;
  for (std::size_t g = 0; good && g < kUuidGroups.size(); ++g) {
    if (g != 0) good = text[at++] == '-';
    for (std::size_t i = 0; good && i < kUuidGroups[g]; ++i, at += 2, ++out) {
      const char* digits = text.data() + at;
      good = std::from_chars(digits, digits + 2, uuid.bytes[out], 16).ptr == digits + 2;
    }
  }
  if (!good) {
    return fail(Code::kInvalid, "'" + std::string(text) +
                                    "' is not a UUID of the form "
                                    "01234567-89ab-cdef-0123-456789abcdef");
  }
  return uuid;
}

Result<FragmentName> parse_fragment_name(std::string_view text) {
  FragmentName name;
  std::string_view rest = text;
  if (!take_hex(rest, '.', name.object.incarnation) || !take_hex(rest, '/', name.object.counter) ||
      !take_hex(rest, '.', name.index) || !take_hex(rest, ' ', name.placement.value) ||
      !rest.empty()) {
    return fail(Code::kInvalid, "'" + std::string(text) +
                                    "' is not a fragment name; "
                                    "write incarnation.counter/index.placement in hexadecimal");
  }
  return name;
}

}  // namespace cairn

// Fixed-width integers in byte strings.  Little-endian for formats, big-endian for keys whose order
// in a key-value store must be the order of the numbers.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace cairn {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

static_assert(std::endian::native == std::endian::little, "Cairn runs on little-endian machines");

namespace internal {
template <std::unsigned_integral T>
constexpr T swap_bytes(T value) {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}
}  // namespace internal

/// `at` points to at least sizeof(T) bytes; no alignment needed.
template <std::unsigned_integral T>
T load_le(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <std::unsigned_integral T>
void store_le(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
template <std::unsigned_integral T>
T load_be(const void* at) {
  return internal::swap_bytes(load_le<T>(at));
}
template <std::unsigned_integral T>
void append_be(std::string& out, T value) {
  const T swapped = internal::swap_bytes(value);
  out.append(reinterpret_cast<const char*>(&swapped), sizeof swapped);
}
template <std::unsigned_integral T>
void append_le(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads fields one after another from untrusted bytes; past the end it yields zeros and `ok` turns
/// false, so a decoder checks once at its end.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}
  template <std::unsigned_integral T>
  T le() {
    return take<T>() ? load_le<T>(at_) : T{0};
  }
  template <std::unsigned_integral T>
  T be() {
    return take<T>() ? load_be<T>(at_) : T{0};
  }
  bool ok() const { return ok_; }
  std::size_t remaining() const { return bytes_.size(); }

 private:
  template <class T>
  bool take() {
    if (bytes_.size() < sizeof(T)) {
      ok_ = false;
      bytes_ = {};
      return false;
    }
    at_ = bytes_.data();
    bytes_ = bytes_.subspan(sizeof(T));
    return true;
  }
  Bytes bytes_;
  const std::byte* at_ = nullptr;
  bool ok_ = true;
};

}  // namespace cairn

// A few values in place, at most N, in order: states of a model are copied and hashed by the
// million, so they hold no pointers and no padding, and unused places are zeros.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"

namespace cairn::model {

template <class T, std::size_t N>
class Few {
 public:
  static constexpr std::size_t kCapacity = N;

  auto begin() { return items_.begin(); }
  auto begin() const { return items_.begin(); }
  auto end() { return items_.begin() + count_; }
  auto end() const { return items_.begin() + count_; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == N; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  bool contains(const T& item) const { return std::ranges::find(*this, item) != end(); }

  /// Keeps the order, so that equal sets are equal bytes.
  void insert(const T& item) {
    CAIRN_CHECK(count_ < N);
    auto* at = std::ranges::upper_bound(begin(), end(), item);
    std::move_backward(at, end(), end() + 1);
    *at = item;
    ++count_;
  }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    auto* last = std::remove_if(begin(), end(), predicate);
    count_ = static_cast<std::uint8_t>(last - begin());
    std::fill(last, items_.end(), T{});
  }
  void erase(const T& item) {
    erase_if([&item](const T& each) { return each == item; });
  }
  void clear() { *this = {}; }

  auto operator<=>(const Few&) const = default;

 private:
  std::array<T, N> items_{};
  std::uint8_t count_ = 0;
};

}  // namespace cairn::model

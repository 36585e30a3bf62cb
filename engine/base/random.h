// A small seeded generator for tests, the simulator and back-off.  Not for secrets: UUIDs and
// nonces come from env::Random.
#pragma once

#include <cstdint>

namespace cairn {

/// SplitMix64 (Steele, Lea, Flood 2014): one multiply-xor chain per value, any seed is good.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// In [0, bound); bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// In [low, high].
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  /// True about once in `n`.
  constexpr bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace cairn

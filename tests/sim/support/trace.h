// The trace hash: every event of a simulation folded into 64 bits, so that two runs can be
// compared. Only values that a seed decides may go in: no addresses, no hash-table order, no real
// time.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "engine/base/bytes.h"

namespace cairn::sim {

class Trace {
 public:
  void fold(std::uint64_t value) {
    hash_ = (std::rotl(hash_, 23) ^ value) * 0x9e3779b97f4a7c15ULL;
    hash_ ^= hash_ >> 32;
  }
  /// Contents, in four lanes: fast enough to fold every byte that is written.
  void fold_bytes(Bytes bytes);
  void fold_text(std::string_view text) { fold_bytes(as_bytes(text)); }

  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x243f6a8885a308d3ULL;
};

inline void Trace::fold_bytes(Bytes bytes) {
  constexpr std::size_t kLaneBytes = 8;
  constexpr std::size_t kLanes = 4;
  std::uint64_t lanes[kLanes] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + kLanes * kLaneBytes <= bytes.size(); at += kLanes * kLaneBytes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto word = load_le<std::uint64_t>(bytes.data() + at + lane * kLaneBytes);
      lanes[lane] = (std::rotl(lanes[lane], 29) ^ word) * 0xc2b2ae3d27d4eb4fULL;
    }
  }
  for (; at < bytes.size(); ++at) {
    lanes[0] = (lanes[0] ^ std::to_integer<std::uint64_t>(bytes[at])) * 0x100000001b3ULL;
  }
  fold(bytes.size());
  for (const std::uint64_t lane : lanes) fold(lane);
}

}  // namespace cairn::sim

// The memory that one ring keeps pinned, in slots of the kernel's table.  Belongs to UringDevice,
// on its thread.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/bytes.h"
#include "engine/base/status.h"
#include "engine/io/ring.h"

namespace cairn::io {

class PinnedRanges {
 public:
  static constexpr int kNoSlot = -1;

  /// Without `wanted`, or when the kernel refuses the table, nothing is ever pinned.  `ring`
  /// outlives this.
  PinnedRanges(Ring& ring, bool wanted);

  /// False when no part of `memory` could be pinned, which costs speed only; logged.
  bool add(MutableBytes memory);
  /// Ends what add(memory) began.  Nothing in flight uses it.
  void remove(MutableBytes memory);
  /// The slot whose range holds all of [data, data + length), or kNoSlot.
  int slot_of(const std::byte* data, std::uint64_t length) const;

 private:
  /// A target has a pool, a benchmark another one.
  static constexpr std::uint32_t kSlots = 8;

  Status pin(MutableBytes range);

  Ring& ring_;
  bool ready_ = false;
  std::array<MutableBytes, kSlots> ranges_;  ///< empty: slot unused
};

}  // namespace cairn::io

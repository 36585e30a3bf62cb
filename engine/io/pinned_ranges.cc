#include "engine/io/pinned_ranges.h"

#include <algorithm>

#include "engine/base/log.h"
#include "engine/base/units.h"

namespace cairn::io {
namespace {

/// The kernel refuses to pin more than this as one range.
constexpr std::uint64_t kRangeBytesMax = 1 * kGiB;

void say_refused(const Status& why) {
  log_info("io", "memory is not registered with io_uring, transfers cost a little more CPU: " +
                     why.to_string());
}

bool contains(Bytes whole, const std::byte* data, std::uint64_t length) {
  return data >= whole.data() && data < whole.data() + whole.size() &&
         length <= static_cast<std::uint64_t>(whole.data() + whole.size() - data);
}

}  // namespace

PinnedRanges::PinnedRanges(Ring& ring, bool wanted) : ring_(ring) {
  if (!wanted) return;
  const Status table = ring_.register_buffers(kSlots);
  ready_ = table.ok();
  if (!table.ok()) say_refused(table);
}

bool PinnedRanges::add(MutableBytes memory) {
  if (!ready_) return false;
  for (std::uint64_t at = 0; at < memory.size(); at += kRangeBytesMax) {
    const std::uint64_t bytes = std::min(memory.size() - at, kRangeBytesMax);
    if (const Status pinned = pin(memory.subspan(at, bytes)); !pinned.ok()) {
      say_refused(pinned);
      return at > 0;
    }
  }
  return true;
}

Status PinnedRanges::pin(MutableBytes range) {
  const auto slot = std::ranges::find_if(ranges_, &MutableBytes::empty);
  if (slot == ranges_.end()) {
    return {Code::kInvalid, "more than " + std::to_string(kSlots) + " ranges of at most 1 GiB"};
  }
  TRY_VOID(ring_.set_buffer(static_cast<std::uint32_t>(slot - ranges_.begin()), range));
  *slot = range;
  return {};
}

void PinnedRanges::remove(MutableBytes memory) {
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    MutableBytes& range = ranges_[slot];
    if (range.empty() || !contains(memory, range.data(), range.size())) continue;
    // A slot that can't be emptied keeps its pages pinned, but nothing finds it any more.
    const Status emptied = ring_.set_buffer(slot, {});
    if (!emptied.ok()) log_warn("io", emptied.to_string());
    range = {};
  }
}

int PinnedRanges::slot_of(const std::byte* data, std::uint64_t length) const {
  const auto slot = std::ranges::find_if(
      ranges_, [=](MutableBytes range) { return contains(range, data, length); });
  return slot == ranges_.end() ? kNoSlot : static_cast<int>(slot - ranges_.begin());
}

}  // namespace cairn::io

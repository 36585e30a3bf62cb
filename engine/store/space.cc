#include "engine/store/space.h"

#include "engine/base/log.h"

namespace cairn::store {

Result<std::uint64_t> Space::allocatable(const SegmentUsage& usage) const {
  TRY(const env::SpaceInfo space, files_.space(directory_));
  const std::uint64_t headroom = headroom_bytes(capacity_bytes_);
  const std::uint64_t on_device = space.free_bytes > headroom ? space.free_bytes - headroom : 0;
  const std::uint64_t taken = usage.used_bytes + usage.room_bytes + headroom;
  return std::min(on_device, capacity_bytes_ > taken ? capacity_bytes_ - taken : 0);
}

Result<std::uint64_t> Space::free_bytes(const SegmentUsage& usage) const {
  TRY(const std::uint64_t more, allocatable(usage));
  return unreserved(more + usage.room_bytes);
}

Result<std::uint64_t> Space::admit(std::uint64_t bytes, bool reserved,
                                   const SegmentUsage& usage) const {
  TRY(const std::uint64_t more, allocatable(usage));
  std::uint64_t free = unreserved(more + usage.room_bytes);
  if (reserved) free += reserved_bytes_;
  if (bytes <= free) return more;
  return fail(Code::kNoSpace, format_bytes(bytes) + " asked for, " + format_bytes(free) +
                                  " free (" + format_bytes(reserved_bytes_) +
                                  " reserved); delete fragments or add a target");
}

Status Space::reserve(std::uint64_t bytes, const SegmentUsage& usage) {
  TRY_VOID(admit(bytes, false, usage));
  reserved_bytes_ += bytes;
  return {};
}

Task<Status> Space::make_room_for_index() {
  if (ballast_gone_) co_return Status();
  CO_TRY(const env::SpaceInfo space, files_.space(directory_));
  if (space.free_bytes >= ballast_bytes(capacity_bytes_)) co_return Status();
  log_warn("store", directory_ + ": the file system is full (" + format_bytes(space.free_bytes) +
                        " left); using the space put aside for deletes");
  Status removed = co_await files_.remove(ballast_path());
  if (!removed.ok() && removed.code() != Code::kNotFound) co_return removed;
  ballast_gone_ = true;
  co_return Status();
}

Task<Status> Space::restore_ballast(SegmentUsage usage) {
  if (!ballast_gone_) co_return Status();
  CO_TRY(const std::uint64_t free, allocatable(usage));
  if (free < ballast_bytes(capacity_bytes_)) co_return Status();
  CO_TRY_VOID(co_await files_.reserve(ballast_path(), ballast_bytes(capacity_bytes_)));
  ballast_gone_ = false;
  co_return Status();
}

}  // namespace cairn::store

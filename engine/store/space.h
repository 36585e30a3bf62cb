// How much a target may still take.  Deletes must work on a full device, so the index never
// competes with fragments for the last blocks: fragments stop at a headroom, and a preallocated
// ballast file is let go when somebody else filled the file system all the same. Thread: the
// target's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/base/limits.h"
#include "engine/env/files.h"

namespace cairn::store {

/// Space that fragments leave to the index and to the file system's own records.
constexpr std::uint64_t headroom_bytes(std::uint64_t capacity_bytes) {
  return std::clamp(capacity_bytes / 16, 1 * kMiB, 128 * kMiB);
}
/// Space put aside in a file for deletes on a full file system.
constexpr std::uint64_t ballast_bytes(std::uint64_t capacity_bytes) {
  return headroom_bytes(capacity_bytes) / 4;
}

/// What the segments hold now.
struct SegmentUsage {
  std::uint64_t used_bytes = 0;  ///< appended to, whether live or not given back yet
  std::uint64_t room_bytes = 0;  ///< preallocated and free
};

class Space {
 public:
  Space(env::Files& files, std::string directory, std::uint64_t capacity_bytes)
      : files_(files), directory_(std::move(directory)), capacity_bytes_(capacity_bytes) {}

  /// Bytes a new segment may take, reservations not counted.
  Result<std::uint64_t> allocatable(const SegmentUsage& usage) const;
  /// What new fragments may still take, reservations counted.
  Result<std::uint64_t> free_bytes(const SegmentUsage& usage) const;
  /// What `allocatable` gives, when `bytes` fit in; a `reserved` request may use what was put
  /// aside.  kNoSpace says how much is free.
  Result<std::uint64_t> admit(std::uint64_t bytes, bool reserved, const SegmentUsage& usage) const;

  Status reserve(std::uint64_t bytes, const SegmentUsage& usage);
  void unreserve(std::uint64_t bytes) { reserved_bytes_ -= std::min(bytes, reserved_bytes_); }
  std::uint64_t reserved_bytes() const { return reserved_bytes_; }

  /// Before an index write that must succeed: lets the ballast go when the file system is full.
  Task<Status> make_room_for_index();
  /// Puts the ballast back when there is room again.
  Task<Status> restore_ballast(SegmentUsage usage);

 private:
  std::uint64_t unreserved(std::uint64_t bytes) const {
    return bytes > reserved_bytes_ ? bytes - reserved_bytes_ : 0;
  }
  std::string ballast_path() const { return directory_ + "/ballast"; }

  env::Files& files_;
  std::string directory_;
  std::uint64_t capacity_bytes_;
  std::uint64_t reserved_bytes_ = 0;
  bool ballast_gone_ = false;
};

}  // namespace cairn::store

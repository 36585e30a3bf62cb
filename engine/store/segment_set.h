// The segment files of a target: append-only, preallocated, numbers never reused.
//
// Allocation goes to one current segment; a full one stays open until its running extents settle
// (indexed or given back), then its tail is cut off and only reads follow.  After a restart every
// segment is closed: a new one begins.
// Thread: the target's.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/env/env.h"
#include "engine/env/sync.h"
#include "engine/store/flush_group.h"
#include "engine/store/index_format.h"
#include "engine/store/space.h"

namespace cairn::store {

/// An open segment file.  Shared by everyone who uses it now; closed when the last one lets go.
class SegmentFile {
 public:
  SegmentFile(env::BlockDevice& device, env::DeviceFile file) : device_(device), file_(file) {}
  ~SegmentFile() { device_.close(file_); }
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;
  env::DeviceFile get() const { return file_; }

 private:
  env::BlockDevice& device_;
  env::DeviceFile file_;
};
using SegmentFilePtr = std::shared_ptr<SegmentFile>;

/// "0000000000000001.seg"
std::string segment_file_name(SegmentNumber number);
/// nullopt: not the name of a segment.
std::optional<SegmentNumber> parse_segment_file_name(std::string_view name);

class SegmentSet {
 public:
  /// `flush_failed` is told of an error that fails the target.
  SegmentSet(env::Env env, std::string directory, std::uint64_t segment_bytes,
             std::uint32_t open_files_max, std::function<void(const Status&)> flush_failed);

  /// Adopts a segment that exists, as closed.
  void adopt(SegmentNumber number, SegmentRecord live) { segments_[number].live = live; }
  /// The next new segment gets a number above this one.
  void set_highest(SegmentNumber number) { highest_ = number; }
  SegmentNumber highest() const { return highest_; }

  /// Takes `bytes` in one segment, opening a new one of at most `new_segment_bytes_max` when the
  /// current one is full.  The extent runs until settle().  Waits while kOpenSegmentsMax are open.
  /// kNoSpace: nothing was taken.
  Task<Result<Extent>> allocate(std::uint64_t bytes, std::uint64_t new_segment_bytes_max);
  /// The extent is indexed, or its blocks were given back: the mark may pass it.
  void settle(const Extent& extent);
  /// What the current segment still takes.
  std::uint64_t room() const;

  /// For reading any segment or writing an allocated extent; single use, then dropped.
  /// kUnavailable (no_descriptors): try again, never "absent".
  Task<Result<SegmentFilePtr>> file(SegmentNumber number);
  /// Every completed write of the segment becomes durable.
  Task<Status> flush(SegmentNumber number);

  /// Counters of a segment after a fragment came or went; put the record into the same index
  /// change.
  SegmentRecord add_live(const Extent& extent);
  SegmentRecord remove_live(const Extent& extent);
  const SegmentRecord& live(SegmentNumber number) const { return segments_.at(number).live; }
  bool is_open(SegmentNumber number) const { return segments_.at(number).open != nullptr; }
  bool contains(SegmentNumber number) const { return segments_.contains(number); }

  /// Closed segments in which nothing lives.
  std::vector<SegmentNumber> empty_closed() const;
  /// Removes the file of an empty, closed segment that the index has forgotten.
  Task<Status> unlink(SegmentNumber number);
  /// Forgets it: from now on it is not there.
  void forget(SegmentNumber number);

  /// Positions of the open segments; never past a running extent.
  ScanMark mark() const;

  std::size_t count() const { return segments_.size(); }
  SegmentRecord total() const;
  SegmentUsage usage() const;

  /// Cuts the tails of all segments that are open; nothing may be running.
  Task<Status> close();

  std::string path(SegmentNumber number) const {
    return directory_ + '/' + segment_file_name(number);
  }

 private:
  struct OpenSegment {
    std::uint64_t bytes = 0;          ///< preallocated
    std::uint64_t append = 0;         ///< where the next extent goes
    std::set<std::uint64_t> running;  ///< offsets of extents that are not settled
    bool closing = false;             ///< its tail is being cut off
  };
  struct Segment {
    SegmentRecord live;
    std::unique_ptr<OpenSegment> open;  ///< null: closed
    std::unique_ptr<FlushGroup> flushes;
    SegmentFilePtr file;  ///< open or recently used
    std::list<SegmentNumber>::iterator used;
  };

  Task<Status> start_segment(std::uint64_t bytes);
  void remember(SegmentNumber number, SegmentFilePtr file);
  void close_if_settled(SegmentNumber number);
  Task<Status> cut_tail(SegmentNumber number);
  std::uint32_t open_count() const;

  env::Env env_;
  std::function<void(const Status&)> flush_failed_;
  std::string directory_;
  std::uint64_t segment_bytes_;
  std::uint32_t open_files_max_;
  std::map<SegmentNumber, Segment> segments_;
  std::list<SegmentNumber> recently_used_;  ///< front: last used
  SegmentNumber highest_;
  SegmentNumber current_;  ///< 0: none
  Permits starting_;       ///< one new segment at a time
  Event settled_;          ///< pulsed when a segment closes
  TaskGroup tails_;
};

}  // namespace cairn::store

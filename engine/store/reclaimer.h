// Gives the blocks of deleted fragments back: after their records are synced, after the reads in
// flight, by hole punching, or by unlinking a segment in which nothing lives any more.
//
// A dead record is forgotten only after the punch is flushed: until then a scan past the mark could
// find the header again, and the record is what says that it is dead (I6).
// Thread: the target's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "engine/env/env.h"
#include "engine/env/sync.h"
#include "engine/store/fragment_index.h"
#include "engine/store/index_syncer.h"
#include "engine/store/segment_set.h"

namespace cairn::store {

/// Extents that are being read now.
class ReadPins {
 public:
  explicit ReadPins(const Executor& executor) : released_(executor) {}

  /// Unpins when destroyed.
  class Pin {
   public:
    Pin(ReadPins& pins, const Extent& extent) : pins_(pins), extent_(extent) {
      ++pins_.counts_[extent_];
    }
    ~Pin() {
      if (--pins_.counts_.at(extent_) == 0) pins_.counts_.erase(extent_);
      pins_.released_.pulse();
    }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

   private:
    ReadPins& pins_;
    Extent extent_;
  };

  Task<void> wait_until_free(Extent extent) {
    while (counts_.contains(extent)) co_await released_.wait();
  }
  Task<void> wait_until_segment_free(SegmentNumber segment) {
    const Extent first{segment, 0, 0};
    const Extent end{SegmentNumber{segment.value + 1}, 0, 0};
    while (counts_.lower_bound(first) != counts_.lower_bound(end)) co_await released_.wait();
  }

 private:
  std::map<Extent, std::uint32_t> counts_;
  Event released_;
};

class Reclaimer {
 public:
  Reclaimer(env::Env env, FragmentIndex& index, SegmentSet& segments, IndexSyncer& syncer,
            ReadPins& pins, std::function<void(const Status&)> failed);

  /// Dead extents whose records are synced.
  void add(const std::vector<Extent>& dead);
  /// Looks for closed segments in which nothing lives.
  void poke() { work_.set(); }
  std::uint64_t pending() const { return queue_.size(); }

  /// The loop; after stop() it ends once the work in hand is done.
  Task<Status> run();
  void stop();

 private:
  Task<Status> give_back_some();
  Task<Status> drop_empty_segments();

  env::Env env_;
  FragmentIndex& index_;
  SegmentSet& segments_;
  IndexSyncer& syncer_;
  ReadPins& pins_;
  std::function<void(const Status&)> failed_;
  std::deque<Extent> queue_;
  bool stopping_ = false;
  Event work_;
};

}  // namespace cairn::store

// Makes the index durable: every second or 64 MiB of new fragments, and at once when a delete
// waits.
//
// One commit is: the scan mark into the index, a sync of the index, then (when a delete waits, or
// every second) its number into the superblock.  The order matters: a mark is durable only together
// with every record before it, and the superblock never claims a commit that could be lost.
// Thread: the target's.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/env/env.h"
#include "engine/env/sync.h"
#include "engine/store/fragment_index.h"
#include "engine/store/segment_set.h"
#include "engine/store/space.h"
#include "engine/store/superblock.h"

namespace cairn::store {

struct IndexSyncOptions {
  std::int64_t every_ms = kMarkEveryMs;
  std::uint64_t every_bytes = kMarkEveryBytes;
};

class IndexSyncer {
 public:
  /// `failed` is told once when a commit fails; nothing is committed after that.  A full file
  /// system is no failure: the commit waits until there is space, and so does who waits for it.
  IndexSyncer(env::Env env, FragmentIndex& index, SegmentSet& segments, SuperblockFile& superblock,
              Space& space, IndexSyncOptions options, std::function<void(const Status&)> failed);

  /// A fragment of `bytes` was added; it becomes durable in the index within the limits above.
  void note(std::uint64_t bytes);
  /// Returns when everything applied before this call is durable, and the superblock knows.
  Task<Status> synced();

  /// Number of the last commit, for the first one after opening.
  void set_commit(std::uint64_t commit) { commit_ = commit; }
  std::uint64_t commit() const { return commit_; }

  /// The loop; ends after stop().
  Task<Status> run();
  void stop();
  /// No commit from now on: the target has failed.
  void fail(const Status& error);

 private:
  Task<Status> commit_once();
  bool due() const;

  env::Env env_;
  FragmentIndex& index_;
  SegmentSet& segments_;
  SuperblockFile& superblock_;
  Space& space_;
  IndexSyncOptions options_;
  std::function<void(const Status&)> failed_;

  std::uint64_t commit_ = 0;
  std::uint64_t requested_ = 0;  ///< tickets of synced()
  std::uint64_t completed_ = 0;
  std::uint64_t pending_bytes_ = 0;
  bool dirty_ = false;
  bool stopping_ = false;
  env::MonotonicTime last_commit_{};
  env::MonotonicTime last_superblock_{};
  Status error_;
  Event work_;
  Event done_;
};

}  // namespace cairn::store

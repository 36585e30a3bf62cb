// The storage target: takes fragments, keeps them on one device, never loses or misreports one.
// DESIGN section 4; bytes on disk in docs/formats.md.
//
// What a caller may rely on:
//   - finish() of a put that returned OK: the fragment survives a power cut (I1).
//   - A deleted fragment never comes back (I6); kNotFound is a definite answer (I7).
//   - Bytes given out with Verify::kHere were checked against the writing client's hashes (I10).
//   - The first error of a write or flush fails the target for good: later puts and deletes are
//     kIo (target_failed), reads go on.
// It knows nothing of networks, sessions or which fragments anybody refers to.
//
// Thread: the executor's of the Env, one at a time.  Called by: the target service, cairn,
// cairn-bench.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "engine/base/status.h"
#include "engine/env/env.h"
#include "engine/store/put_session.h"

namespace cairn::store {

struct InitOptions {
  Uuid cluster;                      ///< nil: a new random one
  std::string pool = "capacity";     ///< "fast" or "capacity"
  std::uint64_t capacity_bytes = 0;  ///< 0: what the file system has
  std::uint64_t segment_bytes = 0;   ///< 0: min(1 GiB, capacity / 64), at least kSegmentBytesMin
};

/// Makes a target of `directory`, which is empty or does not exist yet.
/// kExists: it is a target already.  kInvalid (foreign): it holds other files; nothing was changed.
Task<Status> init_target(env::Env env, std::string directory, InitOptions options);

/// Throws the index away and makes it anew from the fragments' own headers.  Run again after a
/// crash. Fragments whose data fails to verify are kept and answer kCorrupt.
struct RebuildReport {
  std::uint64_t segments = 0;
  std::uint64_t fragments = 0;
  std::uint64_t fragment_bytes = 0;
  std::uint64_t unverified = 0;  ///< kept, answer kCorrupt
};
Task<Result<RebuildReport>> rebuild_index(env::Env env, std::string directory);

enum class FragmentState : std::uint8_t {
  kLive = 1,
  /// Found by a scan with data that does not verify: torn by a crash or damaged later, nobody can
  /// tell.  Kept, answers kCorrupt; a put of the same fragment replaces it.
  kSuspect = 2,
};

struct FragmentInfo {
  FragmentName name;
  FragmentState state = FragmentState::kLive;
  std::uint64_t table_hash = 0;
  std::uint64_t data_bytes = 0;
  std::uint32_t header_bytes = 0;
  SegmentNumber segment;
  std::uint64_t segment_offset = 0;
};

/// What `cairn target inspect` shows.
struct TargetInfo {
  Uuid cluster;
  Uuid target;
  std::string pool;
  Epoch epoch;
  CommitIndex metadata_mark;
  bool expelled = false;
  bool failed = false;
  std::string failure;  ///< why, when failed
  std::uint64_t capacity_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< what new fragments may still take
  std::uint64_t reserved_bytes = 0;
  std::uint64_t fragments = 0;
  std::uint64_t live_bytes = 0;  ///< headers and data of the fragments
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;  ///< size of a new segment
  std::uint64_t dead_extents = 0;   ///< deleted, blocks not given back yet
  std::uint64_t index_commit = 0;
};

/// Without opening it: works beside a running daemon and on a target that refuses to open.
Task<Result<TargetInfo>> inspect_target(env::Env env, std::string directory);

enum class Verify : std::uint8_t {
  kHere,      ///< the target checks every block against the table in the header
  kByCaller,  ///< the caller checks (reads by clients: checked once, at the far end)
};

struct ReadRange {
  std::uint64_t offset = 0;  ///< in the fragment's data; a multiple of kBlockBytes
  std::uint64_t length = 0;  ///< whole blocks, or up to the end of the fragment
};

struct ScrubOptions {
  FragmentName after;  ///< begin behind this one; default: from the first
  std::uint64_t fragments_max = UINT64_MAX;
};
struct ScrubReport {
  std::uint64_t fragments = 0;
  std::uint64_t bytes = 0;
  struct Damage {
    FragmentName name;
    Code code;
    std::string message;
  };
  std::vector<Damage> damaged;  ///< at most kListPageMax; `damaged_total` counts all
  std::uint64_t damaged_total = 0;
  std::optional<FragmentName> last;  ///< to go on from; empty when the end was reached
};

struct StoreOptions {
  std::string directory;
  Uuid expect_cluster;  ///< nil: any; else kInvalid (foreign) when it differs
  std::uint32_t pieces = kPiecesPerTarget;
  std::int64_t mark_every_ms = kMarkEveryMs;
  std::uint64_t mark_every_bytes = kMarkEveryBytes;
  std::uint32_t open_files_max = kOpenFilesMax;
  bool index_fragments = true;  ///< off only in cairn-bench, to weigh the index
};

class TargetStore {
 public:
  /// Locks the folder, checks superblock and index against each other, scans past the mark.
  /// kUnavailable (locked): another process has it.  kInvalid (foreign), kUnsupported (version).
  /// kCorrupt (rolled_back): the index is older than the superblock's mark; run rebuild-index.
  static Task<Result<std::unique_ptr<TargetStore>>> open(env::Env env, StoreOptions options);
  ~TargetStore();

  /// Ends background work, syncs the index and gives the lock back.  Last call; after it only the
  /// destructor.  Sessions must be gone.
  Task<Status> close();

  /// Starts one fragment.  Repeating an acknowledged put with equal table succeeds (I12).
  /// kExists: that name holds other bytes.  kUnavailable (busy): the same put is running; try
  /// again. kNoSpace: nothing was written.  kIo (target_failed).  kExpelled: refresh the cluster
  /// map. kInvalid names the field.
  Task<Result<PutSession>> begin_put(PutRequest request);

  /// Reads whole blocks of one fragment; `into` is page-aligned and range.length long.
  /// kNotFound: no such fragment here, a definite answer.  kCorrupt: the bytes fail their hashes,
  /// or the fragment is suspect.  kIo: this read failed, nothing else.
  Task<Status> read_fragment(FragmentName name, ReadRange range, MutableBytes into, Verify verify);
  /// The hash table of all k+m fragments as this fragment's header carries it, checked.
  Task<Result<std::string>> read_table(FragmentName name);
  /// kNotFound is definite.
  Result<FragmentInfo> stat(const FragmentName& name);
  /// Up to `limit` (<= kListPageMax) fragments behind `after` in name order; nullopt: from the
  /// first. An error means nothing about what is there.
  Result<std::vector<FragmentInfo>> list(std::optional<FragmentName> after, std::uint32_t limit);

  /// Removes fragments by exact name; at most kDeleteBatchMax.  Absent ones count as removed.  OK:
  /// they never come back; blocks are given back afterwards, once reads in flight are done.
  /// kExpelled (stale_epoch): the sender's map is older than the newest seen here.
  Task<Status> delete_fragments(std::vector<FragmentName> names, Epoch epoch);

  /// Remembers a newer epoch and the metadata's commit number, durably.  Older epochs are refused
  /// from then on: kExpelled (stale_epoch).
  Task<Status> advance_epoch(Epoch epoch, CommitIndex metadata_mark);
  /// Refuses everything from now on, also after restarts.
  Task<Status> expel(Epoch epoch);

  /// Puts space aside for fragments to come (headers included); kNoSpace says how much is free.
  Status reserve(std::uint64_t bytes);
  void unreserve(std::uint64_t bytes);

  TargetInfo info() const;
  /// Verifies fragments against their tables, in name order.
  Task<Result<ScrubReport>> scrub(ScrubOptions options);
  /// Fragments that failed a read since the last call, for repair; bounded, oldest dropped.
  std::vector<FragmentName> take_damaged();

  class Impl;  // defined in target_store.cc, shared with the put path

 private:
  explicit TargetStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::store

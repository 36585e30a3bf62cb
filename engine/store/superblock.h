// What a target must remember outside its index: who it is, what it may no longer do, and marks
// that expose an index or a metadata store that went back in time.
//
// Two copies; the newest valid one counts.  They are overwritten in place, since that works on a
// file system without any space, and one after the other, the one in doubt first: the other stays
// whole until that has lasted.  One damaged copy is repaired by the next update, two are an error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "engine/base/status.h"
#include "engine/env/files.h"
#include "engine/env/sync.h"

namespace cairn::store {

inline constexpr std::uint64_t kSuperblockMagic = 0x314b4c425253524eULL;
inline constexpr std::uint32_t kSuperblockFormat = 1;
inline constexpr std::uint64_t kSuperblockBytes = kPageBytes;
inline constexpr std::size_t kPoolNameBytesMax = 32;
inline constexpr std::size_t kFailureBytesMax = 256;

struct Superblock {
  std::uint64_t sequence = 0;  ///< grows with each replacement
  Uuid cluster;
  Uuid target;
  std::uint64_t created_s = 0;  ///< wall clock, seconds since 1970
  std::uint64_t capacity_bytes = 0;
  std::uint64_t segment_bytes = 0;
  Epoch epoch;                ///< newest seen; older ones are refused (I13)
  CommitIndex metadata_mark;  ///< highest metadata commit number told
  std::uint64_t index_commit =
      0;                       ///< the index holds at least this commit, else it was rolled back
  SegmentNumber segment_mark;  ///< at least every number used before the last synced index commit
  bool expelled = false;
  bool failed = false;
  std::string pool;     ///< at most kPoolNameBytesMax
  std::string failure;  ///< why it failed; at most kFailureBytesMax

  bool operator==(const Superblock&) const = default;
};

/// kSuperblockBytes.  Layout in superblock.cc and docs/formats.md.
std::string encode(const Superblock& superblock);
/// Untrusted bytes: kCorrupt or kUnsupported (version) with both numbers.
Result<Superblock> decode_superblock(Bytes bytes);

/// The newest valid copy in `directory`.  kNotFound: neither file is there, so this is no target.
/// kCorrupt: copies are there and none is valid.
Result<Superblock> load_superblock(env::Files& files, const std::string& directory);

/// Creates or replaces both copies of a target that nobody has open.
Task<Status> write_superblock(env::Files& files, std::string directory, Superblock superblock);

/// Owns the superblock of an open target; updates are applied one after another.
class SuperblockFile {
 public:
  /// Errors as load_superblock.
  static Result<std::unique_ptr<SuperblockFile>> open(Executor executor, env::Files& files,
                                                      std::string directory);

  const Superblock& current() const { return current_; }
  /// Applies `change` and makes it durable in both copies.  On an error nothing but the sequence
  /// changed in memory; on disk either state may be found.
  Task<Status> update(std::function<void(Superblock&)> change);

 private:
  SuperblockFile(Executor executor, env::Files& files, std::string directory, Superblock current,
                 std::size_t doubtful)
      : files_(files),
        directory_(std::move(directory)),
        current_(std::move(current)),
        doubtful_(doubtful),
        turn_(std::move(executor), 1) {}
  Task<Status> write_copies(std::string bytes);
  Task<Status> write_copy(std::size_t copy, std::string bytes);

  env::Files& files_;
  std::string directory_;
  Superblock current_;
  std::size_t doubtful_;  ///< the copy that may be older, torn or gone: written first
  /// The other one was seen to last.  After a kill it may be in the page cache only.
  bool other_lasts_ = false;
  Permits turn_;
};

}  // namespace cairn::store

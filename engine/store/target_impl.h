// The inside of an open target: its parts and the rules that hold between them.  Included by
// target_store.cc (public calls), target_open.cc (start) and put_session.cc (the put path) only.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "engine/io/piece_pool.h"
#include "engine/store/fragment_header.h"
#include "engine/store/fragment_index.h"
#include "engine/store/index_syncer.h"
#include "engine/store/reclaimer.h"
#include "engine/store/segment_set.h"
#include "engine/store/space.h"
#include "engine/store/superblock.h"
#include "engine/store/target_store.h"

namespace cairn::store {

inline constexpr const char* kLockFile = "/lock";
inline constexpr const char* kIndexFolder = "/index";
inline constexpr const char* kSegmentsFolder = "/segments";
inline constexpr const char* kBallastFile = "/ballast";

/// Memory of one piece on its way to the device: room for a header, then kPieceBytes of data.  So a
/// fragment is one contiguous run of full-sized writes, and its data lies at a block boundary.
inline constexpr std::uint64_t kPieceHeadBytes = kBlockBytes;

/// Pieces for headers and scans, apart from those of the puts, so that reads never wait for
/// writers.
inline constexpr std::uint32_t kScanPieces = 8;
/// Fragments whose damage is remembered until take_damaged(); the oldest is dropped.
inline constexpr std::size_t kDamagedMax = 4096;

/// One fragment on its way; owned by its PutSession, then by abandon().
struct PutState {
  PutState(TargetStore::Impl& store_in, const PutRequest& request);
  /// kCancelled once a delete named it.
  Status check_not_deleted() const;
  /// Data bytes that the piece still takes.
  std::uint64_t piece_room() const { return kPieceHeadBytes + kPieceBytes - piece_end; }

  TargetStore::Impl& store;
  FragmentName name;
  VolumeId volume;
  layout::Geometry geometry;
  std::string table;
  std::uint64_t table_hash;
  std::uint32_t header_bytes;
  std::uint64_t data_bytes;

  bool duplicate = false;  ///< already durable: check and drop
  bool deleted = false;    ///< a delete named it while it was on its way
  /// What the index holds under this name: a suspect one, as everything else is refused.  It stays
  /// so, since no second put of a name runs meanwhile and a delete ends this one.
  std::optional<FragmentRecord> replaced;
  bool allocated = false;
  Extent extent;

  io::Piece piece;                ///< being filled
  std::uint64_t piece_begin = 0;  ///< where its filled part starts: behind or at the header
  std::uint64_t piece_end = 0;    ///< where the next byte goes
  std::uint64_t arrived = 0;      ///< data bytes
  std::uint64_t checked = 0;      ///< data bytes compared with the table
  std::uint64_t submitted = 0;    ///< bytes of the extent handed to the device
  Status error;
  Status indexed;  ///< what index_together() said
  TaskGroup writes;
};

class TargetStore::Impl {
 public:
  Impl(env::Env env, StoreOptions options, std::unique_ptr<env::FileLock> lock,
       std::unique_ptr<SuperblockFile> superblock, std::unique_ptr<FragmentIndex> index,
       std::unique_ptr<io::PiecePool> pieces, std::unique_ptr<io::PiecePool> scan_pieces);

  // ---- target_open.cc
  /// Loads what the index knows, scans past the mark, repairs what a crash left, and starts the
  /// background work.
  Task<Status> start();
  Task<Status> close();

  // ---- put_session.cc
  Task<Result<PutSession>> begin_put(PutRequest request);
  /// A session ended without an acknowledgement: waits for its writes and gives its space back.
  void abandon(std::unique_ptr<PutState> state);
  /// After the flush that covers it.  One index write takes all puts that are ready in the same
  /// turn, usually those of one flush.
  Task<Status> index_fragment(PutState& put);

  // ---- target_store.cc
  Task<Status> read_fragment(FragmentName name, ReadRange range, MutableBytes into, Verify verify);
  Task<Result<std::string>> read_table(FragmentName name);
  Result<FragmentRecord> find(const FragmentName& name);
  Task<Status> delete_fragments(std::vector<FragmentName> names, Epoch epoch);
  Task<Result<ScrubReport>> scrub(ScrubOptions options);
  TargetInfo info() const;
  void note_damage(const FragmentName& name, const Status& error);

  /// kExpelled, or kIo (target_failed): why nothing may change here any more.
  Status check_writable() const;
  Status check_epoch(Epoch epoch) const;
  /// The EIO rule: remembers the first error for good.
  void fail_target(const Status& error);
  std::string segments_path() const { return options.directory + kSegmentsFolder; }

  env::Env env;
  StoreOptions options;
  std::unique_ptr<env::FileLock> lock;
  std::unique_ptr<SuperblockFile> superblock;
  std::unique_ptr<FragmentIndex> index;
  std::unique_ptr<io::PiecePool> pieces;
  std::unique_ptr<env::RegisteredMemory> registered;  ///< all of `pieces`
  std::unique_ptr<io::PiecePool> scan_pieces;
  SegmentSet segments;
  Space space;
  ReadPins pins;
  IndexSyncer syncer;
  Reclaimer reclaimer;
  Permits puts;
  /// Names being put now: a second put waits its turn, a delete reaches it.
  std::unordered_map<FragmentName, PutState*> in_flight;
  std::vector<PutState*> to_index;  ///< flushed, waiting for the next index write
  Event indexed;
  std::deque<FragmentName> damaged;
  bool failed = false;
  Status failure;
  TaskGroup syncing;     ///< the syncer's loop
  TaskGroup reclaiming;  ///< the reclaimer's loop
  TaskGroup background;  ///< abandoned puts, persisting a failure

 private:
  Task<Status> recover_segment(SegmentNumber number, std::uint64_t from,
                               const std::set<Extent>& dead_before, std::vector<Extent>& dead);
  Task<Status> read_checked(FragmentName name, FragmentRecord record, ReadRange range,
                            MutableBytes into, Verify verify);
  Task<Status> scrub_fragment(FragmentName name, FragmentRecord record);
  Task<Status> verify_extent(FragmentName name, FragmentRecord record);
  void index_together(const std::vector<PutState*>& ready, const Status& room);
  Task<Status> abandon_now(std::unique_ptr<PutState> state);
  Task<Status> punch_and_flush(Extent extent);
  Task<Status> reclaim_after_sync(std::vector<Extent> dead);
};

}  // namespace cairn::store

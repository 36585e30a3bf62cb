// The life of an open target: lock, checks, scan past the mark, background work, close.
#include <algorithm>
#include <map>
#include <set>

#include "engine/base/log.h"
#include "engine/store/recovery.h"
#include "engine/store/target_impl.h"

namespace cairn::store {
namespace {

/// The index must hold everything the superblock knows to have been synced.
Status check_not_rolled_back(const ScanMark& mark, const Superblock& superblock) {
  if (mark.commit >= superblock.index_commit) return {};
  return {Code::kCorrupt, Reason::kRolledBack,
          "the index is at commit " + std::to_string(mark.commit) + ", the superblock has seen " +
              std::to_string(superblock.index_commit) +
              ": it lost acknowledged changes; run `cairn target rebuild-index`"};
}

}  // namespace

TargetStore::Impl::Impl(env::Env env_in, StoreOptions options_in,
                        std::unique_ptr<env::FileLock> lock_in,
                        std::unique_ptr<SuperblockFile> superblock_in,
                        std::unique_ptr<FragmentIndex> index_in,
                        std::unique_ptr<io::PiecePool> pieces_in,
                        std::unique_ptr<io::PiecePool> scan_pieces_in)
    : env(env_in),
      options(std::move(options_in)),
      lock(std::move(lock_in)),
      superblock(std::move(superblock_in)),
      index(std::move(index_in)),
      pieces(std::move(pieces_in)),
      registered(env.device.register_memory(pieces->memory())),
      scan_pieces(std::move(scan_pieces_in)),
      segments(env, segments_path(), superblock->current().segment_bytes, options.open_files_max,
               [this](const Status& error) { fail_target(error); }),
      space(env.files, options.directory, superblock->current().capacity_bytes),
      pins(env.executor),
      syncer(env, *index, segments, *superblock, space,
             {options.mark_every_ms, options.mark_every_bytes},
             [this](const Status& error) { fail_target(error); }),
      reclaimer(env, *index, segments, syncer, pins,
                [this](const Status& error) { fail_target(error); }),
      puts(env.executor, kPutsInFlightMax),
      indexed(env.executor),
      syncing(env.executor),
      reclaiming(env.executor),
      background(env.executor) {}

Task<Result<std::unique_ptr<TargetStore>>> TargetStore::open(env::Env env, StoreOptions options) {
  const std::string directory = options.directory;
  // Before the lock: a folder that is no target gets no lock file.
  CO_TRY_VOID(load_superblock(env.files, directory));
  auto lock = env.files.lock(directory + kLockFile);
  if (!lock)
    co_return fail(std::move(lock).error().with_context("another process has this target"));
  CO_TRY(auto superblock, SuperblockFile::open(env.executor, env.files, directory));
  const Uuid& cluster = superblock->current().cluster;
  if (!options.expect_cluster.is_nil() && options.expect_cluster != cluster) {
    co_return fail(Code::kInvalid, Reason::kForeign,
                   directory + " belongs to cluster " + to_string(cluster) + ", not to " +
                       to_string(options.expect_cluster));
  }
  CO_TRY(auto index, FragmentIndex::open(env.key_values, directory + kIndexFolder,
                                         env::KeyValueOpen::kExisting));
  CO_TRY(auto pieces,
         io::PiecePool::make(env.executor, options.pieces, kPieceHeadBytes + kPieceBytes));
  CO_TRY(auto scan_pieces, io::PiecePool::make(env.executor, kScanPieces));
  auto impl =
      std::make_unique<Impl>(env, std::move(options), *std::move(lock), std::move(superblock),
                             std::move(index), std::move(pieces), std::move(scan_pieces));
  std::unique_ptr<TargetStore> store(new TargetStore(std::move(impl)));
  Status started = co_await store->impl_->start();
  if (!started.ok()) {
    (co_await store->close()).ignore();  // the first error is the one to tell
    co_return fail(std::move(started).with_context(directory));
  }
  co_return store;
}

Task<Status> TargetStore::Impl::start() {
  if (superblock->current().failed) {
    failed = true;
    failure = Status(Code::kIo, superblock->current().failure);
    failure.ignore();
    syncer.fail(check_writable());
    log_warn("store", options.directory + ": this target has failed before; reads only");
  }
  CO_TRY(const ScanMark mark, index->mark());
  CO_TRY_VOID(check_not_rolled_back(mark, superblock->current()));
  syncer.set_commit(mark.commit);

  CO_TRY(const auto records, index->segments());
  for (const auto& [number, record] : records) segments.adopt(number, record);
  CO_TRY(std::vector<Extent> dead, index->dead());
  const std::set<Extent> dead_before(dead.begin(), dead.end());

  CO_TRY(const auto files, list_segments(env.files, segments_path()));
  SegmentNumber highest = std::max(mark.segment_highest, superblock->current().segment_mark);
  std::map<SegmentNumber, std::uint64_t> to_scan;  // segment -> from where
  for (const ScanMark::Position& position : mark.open) to_scan[position.segment] = position.offset;
  bool unlinked = false;
  for (const SegmentNumber number : files) {
    if (number > mark.segment_highest) to_scan.emplace(number, 0);
    highest = std::max(highest, number);
    if (segments.contains(number) || to_scan.contains(number)) continue;
    // No record names it and the mark has passed it: it was emptied, and its removal did not last.
    if (!failed) CO_TRY_VOID(co_await env.files.remove(segments.path(number)));
    unlinked = true;
  }
  if (unlinked && !failed) CO_TRY_VOID(co_await env.files.sync_directory(segments_path()));
  segments.set_highest(highest);

  for (const auto& [number, from] : to_scan) {
    if (!std::ranges::binary_search(files, number)) continue;  // its creation did not last
    if (!segments.contains(number)) segments.adopt(number, {});
    CO_TRY_VOID(co_await recover_segment(number, from, dead_before, dead));
  }

  // Only now does the index claim to know everything; puts begin with a segment of their own.
  syncing.spawn(syncer.run());
  if (!failed) {
    CO_TRY_VOID(co_await syncer.synced());
    CO_TRY_VOID(co_await space.restore_ballast(segments.usage()));
  }
  reclaiming.spawn(reclaimer.run());
  if (failed) {
    reclaimer.stop();
  } else {
    reclaimer.add(dead);
  }
  co_return Status();
}

Task<Status> TargetStore::Impl::recover_segment(SegmentNumber number, std::uint64_t from,
                                                const std::set<Extent>& dead_before,
                                                std::vector<Extent>& dead) {
  auto file = co_await segments.file(number);
  if (!file) co_return std::move(file).error();
  const env::DeviceFile device_file = (*file)->get();
  auto known = [this, &dead_before](const FragmentHeader& header,
                                    const Extent& extent) -> Result<bool> {
    if (dead_before.contains(extent)) return true;
    TRY(const auto record, index->find(header.name));
    return record && record->extent == extent;
  };
  CO_TRY(SegmentFindings findings,
         co_await find_fragments(env.device, *scan_pieces, device_file, number, from,
                                 superblock->current(), std::move(known)));
  // A dead extent whose header is punched already is not seen by the scan; its blocks may not be.
  for (const Extent& extent : dead_before) {
    if (extent.segment == number) findings.known.push_back(extent);
  }
  if (!failed) {
    for (const Extent& gap : findings.gaps(number)) {
      const int punched = co_await env.device.punch(device_file, gap.offset, gap.bytes);
      if (punched < 0) co_return status_from_errno(-punched, segments.path(number));
    }
    // Also makes durable what was found: after a kill it may be only in the device's cache.
    CO_TRY_VOID(co_await segments.flush(number));
  }
  for (const FoundFragment& found : findings.found) {
    CO_TRY_VOID(merge_found(*index, segments, found, dead));
    if (!found.verified) {
      log_warn("store", "fragment " + to_string(found.header.name) +
                            " has a header without its data; kept, answers kCorrupt");
    }
  }
  co_return Status();
}

Task<Status> TargetStore::Impl::close() {
  (co_await background.join()).ignore();  // their failures are in `failure`
  reclaimer.stop();
  (co_await reclaiming.join()).ignore();
  Status tails = co_await segments.close();
  syncer.stop();
  Status synced = co_await syncing.join();
  (co_await background.join()).ignore();
  lock.reset();
  Status closed = first_error(std::move(tails), std::move(synced));
  if (!failed) co_return closed;
  closed.ignore();  // what failed the target came before it
  co_return check_writable();
}

}  // namespace cairn::store

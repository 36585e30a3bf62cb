#include "engine/store/target_store.h"

#include <algorithm>

#include "engine/base/log.h"
#include "engine/codec/hash_table.h"
#include "engine/io/transfer.h"
#include "engine/store/segment_scan.h"
#include "engine/store/target_impl.h"

namespace cairn::store {
namespace {

FragmentInfo to_info(const FragmentName& name, const FragmentRecord& record) {
  return {name,
          record.state,
          record.table_hash,
          record.data_bytes(),
          record.header_bytes,
          record.extent.segment,
          record.extent.offset};
}

Status not_found(const FragmentName& name) {
  return {Code::kNotFound, "fragment " + to_string(name) + " is not on this target"};
}

Status validate(const ReadRange& range, const FragmentRecord& record) {
  const std::uint64_t data_bytes = record.data_bytes();
  const bool inside =
      range.length > 0 && range.offset < data_bytes && range.length <= data_bytes - range.offset;
  const std::uint64_t end = range.offset + range.length;
  if (inside && is_aligned(range.offset, kBlockBytes) &&
      (is_aligned(end, kBlockBytes) || end == data_bytes)) {
    return {};
  }
  return {Code::kInvalid, "range " + std::to_string(range.offset) + "+" +
                              std::to_string(range.length) + " is not whole 64 KiB blocks of a " +
                              "fragment of " + std::to_string(data_bytes) + " bytes"};
}

}  // namespace

// ---- rules --------------------------------------------------------------------------------------

Status TargetStore::Impl::check_writable() const {
  if (superblock->current().expelled) {
    return {Code::kExpelled, "this target was expelled from the cluster; refresh the cluster map"};
  }
  if (failed) {
    return {Code::kIo, Reason::kTargetFailed,
            "this target has failed and takes no changes until an operator replaces it: " +
                std::string(failure.message())};
  }
  return {};
}

Status TargetStore::Impl::check_epoch(Epoch epoch) const {
  if (epoch >= superblock->current().epoch) return {};
  return {Code::kExpelled, Reason::kStaleEpoch,
          "epoch " + std::to_string(epoch.value) + " is older than " +
              std::to_string(superblock->current().epoch.value) + "; refresh the cluster map"};
}

void TargetStore::Impl::fail_target(const Status& error) {
  if (failed) return;
  failed = true;
  failure = error;
  failure.ignore();  // told with every refusal from now on
  log_error("store", options.directory + ": the target has failed: " + error.to_string());
  syncer.fail(check_writable());
  auto persist = [](Impl* self) -> Task<Status> {
    std::string why(self->failure.message().substr(0, kFailureBytesMax));
    auto remember = [why](Superblock& s) {
      s.failed = true;
      s.failure = why;
    };
    // Best effort: the device that fails may be the one that should remember it.
    (co_await self->superblock->update(remember)).ignore();
    co_return Status();
  };
  background.spawn(persist(this));
}

void TargetStore::Impl::note_damage(const FragmentName& name, const Status& error) {
  log_warn("store", "fragment " + to_string(name) + ": " + error.to_string());
  if (std::ranges::find(damaged, name) != damaged.end()) return;
  damaged.push_back(name);
  if (damaged.size() > kDamagedMax) damaged.pop_front();
}

// ---- reading ------------------------------------------------------------------------------------

Result<FragmentRecord> TargetStore::Impl::find(const FragmentName& name) {
  TRY(const auto record, index->find(name));
  if (!record) return fail(not_found(name));
  return *record;
}

Task<Status> TargetStore::Impl::read_fragment(FragmentName name, ReadRange range, MutableBytes into,
                                              Verify verify) {
  if (superblock->current().expelled) co_return check_writable();
  CO_TRY(const FragmentRecord record, find(name));
  CO_TRY_VOID(validate(range, record));
  if (into.size() != range.length ||
      !is_aligned(reinterpret_cast<std::uintptr_t>(into.data()), kPageBytes)) {
    co_return Status(Code::kInvalid, "the buffer is not page-aligned or not as long as the range");
  }
  Status done = co_await read_checked(name, record, range, into, verify);
  if (done.code() != Code::kCorrupt && done.code() != Code::kIo) co_return done;
  // The fragment may have left, or moved, between the look-up and the read.
  auto now = find(name);
  if (!now) {
    Status gone = std::move(now).error();
    co_return gone;
  }
  if (*now != record) co_return co_await read_checked(name, *now, range, into, verify);
  note_damage(name, done);
  co_return done;
}

Task<Status> TargetStore::Impl::read_checked(FragmentName name, FragmentRecord record,
                                             ReadRange range, MutableBytes into, Verify verify) {
  if (record.state == FragmentState::kSuspect) {
    co_return Status(
        Code::kCorrupt,
        "fragment " + to_string(name) + " was found after a crash with data that fails its hashes");
  }
  const ReadPins::Pin pin(pins, record.extent);
  auto file = co_await segments.file(record.extent.segment);
  if (!file) co_return std::move(file).error();
  const env::DeviceFile device_file = (*file)->get();
  CO_TRY_VOID(co_await io::read_fully(
      env.device, device_file, record.extent.offset + record.header_bytes + range.offset, into));
  if (verify == Verify::kByCaller) co_return Status();

  const io::Piece piece = co_await scan_pieces->acquire();
  CO_TRY(const DecodedHeader decoded, co_await read_header(env.device, device_file, record.extent,
                                                           record.header_bytes, piece.memory()));
  if (decoded.header.name != name || decoded.header.table_hash != record.table_hash) {
    co_return Status(Code::kCorrupt, "the header at the place of fragment " + to_string(name) +
                                         " names another fragment");
  }
  CO_TRY(const auto table, codec::HashTableView::make(decoded.table, decoded.header.geometry));
  co_return codec::verify_blocks(table, name.object, name.index,
                                 static_cast<std::uint32_t>(range.offset / kBlockBytes), into);
}

Task<Result<std::string>> TargetStore::Impl::read_table(FragmentName name) {
  CO_TRY(const FragmentRecord record, find(name));
  const ReadPins::Pin pin(pins, record.extent);
  auto file = co_await segments.file(record.extent.segment);
  if (!file) co_return fail(std::move(file).error());
  const io::Piece piece = co_await scan_pieces->acquire();
  auto decoded = co_await read_header(env.device, (*file)->get(), record.extent,
                                      record.header_bytes, piece.memory());
  if (decoded && decoded->header.name == name && decoded->header.table_hash == record.table_hash) {
    co_return std::string(as_text(decoded->table));
  }
  Status error = decoded ? Status(Code::kCorrupt, "the header at the place of fragment " +
                                                      to_string(name) + " names another fragment")
                         : std::move(decoded).error();
  CO_TRY(const FragmentRecord now, find(name));  // it may have left meanwhile: kNotFound
  if (now == record) note_damage(name, error);
  co_return fail(std::move(error));
}

Task<Result<ScrubReport>> TargetStore::Impl::scrub(ScrubOptions scrub_options) {
  ScrubReport report;
  std::optional<FragmentName> after;
  if (scrub_options.after != FragmentName{}) after = scrub_options.after;
  while (report.fragments < scrub_options.fragments_max) {
    const auto limit = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(kListPageMax, scrub_options.fragments_max - report.fragments));
    CO_TRY(const auto page, index->list(after, limit));
    for (const auto& [name, record] : page) {
      Status checked = co_await scrub_fragment(name, record);
      ++report.fragments;
      report.bytes += record.extent.bytes;
      if (checked.ok() || checked.code() == Code::kNotFound) continue;  // deleted meanwhile
      if (checked.code() != Code::kCorrupt && checked.code() != Code::kIo) {
        co_return fail(std::move(checked));
      }
      note_damage(name, checked);
      ++report.damaged_total;
      if (report.damaged.size() < kListPageMax)
        report.damaged.push_back({name, checked.code(), std::string(checked.message())});
    }
    report.last.reset();
    if (page.size() < limit) break;
    after = report.last = page.back().first;
  }
  co_return report;
}

Task<Status> TargetStore::Impl::scrub_fragment(FragmentName name, FragmentRecord record) {
  const ReadPins::Pin pin(pins, record.extent);
  Status checked = co_await verify_extent(name, record);
  if (checked.ok()) co_return checked;
  CO_TRY(const FragmentRecord now, find(name));
  if (now == record) co_return checked;
  co_return Status();  // replaced while it was read: the next scrub sees the new one
}

Task<Status> TargetStore::Impl::verify_extent(FragmentName name, FragmentRecord record) {
  if (record.state == FragmentState::kSuspect) {
    co_return Status(Code::kCorrupt, "found after a crash with data that fails its hashes");
  }
  auto file = co_await segments.file(record.extent.segment);
  if (!file) co_return std::move(file).error();
  const env::DeviceFile device_file = (*file)->get();
  const io::Piece piece = co_await scan_pieces->acquire();
  CO_TRY(const DecodedHeader decoded, co_await read_header(env.device, device_file, record.extent,
                                                           record.header_bytes, piece.memory()));
  if (decoded.header.name != name || decoded.header.table_hash != record.table_hash) {
    co_return Status(Code::kCorrupt, "the header names another fragment");
  }
  co_return co_await verify_data(env.device, device_file, *scan_pieces, decoded);
}

// ---- deleting -----------------------------------------------------------------------------------

Task<Status> TargetStore::Impl::delete_fragments(std::vector<FragmentName> names, Epoch epoch) {
  CO_TRY_VOID(check_writable());
  CO_TRY_VOID(check_epoch(epoch));
  if (names.size() > kDeleteBatchMax) {
    co_return Status(Code::kInvalid, Reason::kTooLarge,
                     std::to_string(names.size()) + " deletes in one call; at most " +
                         std::to_string(kDeleteBatchMax));
  }
  CO_TRY_VOID(co_await space.make_room_for_index());
  IndexChange change;
  std::vector<Extent> dead;
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  // Look everything up before anything is counted: a failed look-up changes nothing.
  std::vector<FragmentName> present;
  for (const FragmentName& name : names) {
    CO_TRY(const auto record, index->find(name));
    if (!record) continue;
    present.push_back(name);
    dead.push_back(record->extent);
  }
  for (const FragmentName& name : names) {
    const auto put = in_flight.find(name);
    if (put == in_flight.end()) continue;
    put->second->deleted = true;
    // Its header may be on the device already: the dead record keeps a scan from finding it (I6).
    if (put->second->allocated) change.put_dead(put->second->extent);
  }
  for (std::size_t i = 0; i < present.size(); ++i) {
    change.erase_fragment(present[i]);
    change.put_dead(dead[i]);
    change.put_segment(dead[i].segment, segments.remove_live(dead[i]));
  }
  if (!change.batch().empty()) {
    if (Status applied = index->apply(change); !applied.ok()) {
      for (const Extent& extent : dead) segments.add_live(extent);
      if (applied.code() != Code::kNoSpace) fail_target(applied);
      co_return applied;
    }
  }
  // Also when nothing was found: an earlier delete of the same names may still wait for its sync.
  CO_TRY_VOID(co_await syncer.synced());
  reclaimer.add(dead);
  co_return Status();
}

Task<Status> TargetStore::Impl::reclaim_after_sync(std::vector<Extent> dead) {
  CO_TRY_VOID(co_await syncer.synced());
  reclaimer.add(dead);
  co_return Status();
}

// ---- information --------------------------------------------------------------------------------

TargetInfo TargetStore::Impl::info() const {
  const Superblock& s = superblock->current();
  TargetInfo out;
  out.cluster = s.cluster;
  out.target = s.target;
  out.pool = s.pool;
  out.epoch = s.epoch;
  out.metadata_mark = s.metadata_mark;
  out.expelled = s.expelled;
  out.failed = failed;
  out.failure = failed ? std::string(failure.message()) : std::string();
  out.capacity_bytes = s.capacity_bytes;
  if (auto free = space.free_bytes(segments.usage()); free) {
    out.free_bytes = *free;
  } else {
    free.error().ignore();  // shown as 0; puts say why
  }
  out.reserved_bytes = space.reserved_bytes();
  const SegmentRecord total = segments.total();
  out.fragments = total.fragments;
  out.live_bytes = total.bytes;
  out.segments = segments.count();
  out.segment_bytes = s.segment_bytes;
  out.dead_extents = reclaimer.pending();
  out.index_commit = syncer.commit();
  return out;
}

// ---- the public face ----------------------------------------------------------------------------

TargetStore::TargetStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TargetStore::~TargetStore() = default;

Task<Status> TargetStore::close() { return impl_->close(); }
Task<Result<PutSession>> TargetStore::begin_put(PutRequest request) {
  return impl_->begin_put(request);
}
Task<Status> TargetStore::read_fragment(FragmentName name, ReadRange range, MutableBytes into,
                                        Verify verify) {
  return impl_->read_fragment(name, range, into, verify);
}
Task<Result<std::string>> TargetStore::read_table(FragmentName name) {
  return impl_->read_table(name);
}

Result<FragmentInfo> TargetStore::stat(const FragmentName& name) {
  TRY(const FragmentRecord record, impl_->find(name));
  return to_info(name, record);
}

Result<std::vector<FragmentInfo>> TargetStore::list(std::optional<FragmentName> after,
                                                    std::uint32_t limit) {
  TRY(const auto rows, impl_->index->list(after, std::min(limit, kListPageMax)));
  std::vector<FragmentInfo> out;
  out.reserve(rows.size());
  for (const auto& [name, record] : rows) out.push_back(to_info(name, record));
  return out;
}

Task<Status> TargetStore::delete_fragments(std::vector<FragmentName> names, Epoch epoch) {
  return impl_->delete_fragments(std::move(names), epoch);
}

Task<Status> TargetStore::advance_epoch(Epoch epoch, CommitIndex metadata_mark) {
  CO_TRY_VOID(impl_->check_epoch(epoch));
  const Superblock& now = impl_->superblock->current();
  if (metadata_mark < now.metadata_mark && epoch > now.epoch) {
    co_return Status(Code::kInvalid, Reason::kRolledBack,
                     "the metadata is at commit " + std::to_string(metadata_mark.value) +
                         ", this target was told " + std::to_string(now.metadata_mark.value) +
                         "; acknowledged commits are missing there");
  }
  if (epoch == now.epoch && metadata_mark <= now.metadata_mark) co_return Status();
  auto remember = [epoch, metadata_mark](Superblock& superblock) {
    superblock.epoch = std::max(superblock.epoch, epoch);
    superblock.metadata_mark = std::max(superblock.metadata_mark, metadata_mark);
  };
  co_return co_await impl_->superblock->update(remember);
}

Task<Status> TargetStore::expel(Epoch epoch) {
  CO_TRY_VOID(impl_->check_epoch(epoch));
  auto remember = [epoch](Superblock& superblock) {
    superblock.expelled = true;
    superblock.epoch = epoch;
  };
  co_return co_await impl_->superblock->update(remember);
}

Status TargetStore::reserve(std::uint64_t bytes) {
  TRY_VOID(impl_->check_writable());
  return impl_->space.reserve(bytes, impl_->segments.usage());
}
void TargetStore::unreserve(std::uint64_t bytes) { impl_->space.unreserve(bytes); }

TargetInfo TargetStore::info() const { return impl_->info(); }
Task<Result<ScrubReport>> TargetStore::scrub(ScrubOptions options) { return impl_->scrub(options); }

std::vector<FragmentName> TargetStore::take_damaged() {
  const auto taken = std::exchange(impl_->damaged, {});
  return {taken.begin(), taken.end()};
}

}  // namespace cairn::store

#include "engine/store/put_session.h"

#include <algorithm>
#include <map>

#include "engine/base/log.h"
#include "engine/codec/hash_table.h"
#include "engine/io/transfer.h"
#include "engine/store/target_impl.h"

namespace cairn::store {
namespace {

/// Writes one piece; the piece goes back to the pool when the device is done with it.
Task<Status> write_piece(TargetStore::Impl& store, SegmentNumber segment, std::uint64_t offset,
                         io::Piece piece, std::uint64_t begin, std::uint64_t end) {
  auto file = co_await store.segments.file(segment);
  if (!file) co_return std::move(file).error();
  Status written = co_await io::write_fully(store.env.device, (*file)->get(), offset,
                                            piece.memory().subspan(begin, end - begin));
  // Running out of space or descriptors is nobody's broken disk.
  if (written.code() == Code::kIo) store.fail_target(written);
  co_return written;
}

/// Checks that the request is one that this target can hold at all.
Status validate(const PutRequest& request, std::uint64_t segment_bytes) {
  TRY_VOID(layout::validate(request.geometry));
  if (request.geometry.object_bytes == 0) {
    return {Code::kInvalid, "object_bytes is 0: an empty object has no fragments"};
  }
  if (request.name.index >= request.geometry.fragments()) {
    return {Code::kInvalid,
            "fragment index " + std::to_string(request.name.index) +
                " is not below k+m = " + std::to_string(request.geometry.fragments())};
  }
  if (request.table.size() != layout::table_bytes(request.geometry)) {
    return {Code::kInvalid, "the hash table has " + std::to_string(request.table.size()) +
                                " bytes, this geometry needs " +
                                std::to_string(layout::table_bytes(request.geometry))};
  }
  if (extent_bytes(request.geometry) > segment_bytes) {
    return {Code::kInvalid, Reason::kTooLarge,
            "a fragment of " + format_bytes(extent_bytes(request.geometry)) +
                " does not fit into a segment of " + format_bytes(segment_bytes)};
  }
  return {};
}

}  // namespace

PutState::PutState(TargetStore::Impl& store_in, const PutRequest& request)
    : store(store_in),
      name(request.name),
      volume(request.volume),
      geometry(request.geometry),
      table(as_text(request.table)),
      table_hash(hash64(request.table)),
      header_bytes(static_cast<std::uint32_t>(store::header_bytes(request.geometry))),
      data_bytes(layout::fragment_bytes(request.geometry)),
      writes(store_in.env.executor) {}

Status PutState::check_not_deleted() const {
  if (!deleted) return {};
  return {Code::kCancelled, to_string(name) + " was deleted while it was being put"};
}

Task<Result<PutSession>> TargetStore::Impl::begin_put(PutRequest request) {
  CO_TRY_VOID(check_writable());
  CO_TRY_VOID(validate(request, superblock->current().segment_bytes));
  const FragmentName name = request.name;
  if (in_flight.contains(name)) {
    co_return fail(Code::kUnavailable, Reason::kBusy, to_string(name) + " is being put now");
  }
  auto state = std::make_unique<PutState>(*this, request);
  if (options.index_fragments) {
    CO_TRY(const auto existing, index->find(name));
    if (existing && existing->state == FragmentState::kLive) {
      if (existing->table_hash != state->table_hash ||
          existing->data_bytes() != state->data_bytes) {
        co_return fail(Code::kExists, to_string(name) + " holds other bytes");
      }
      state->duplicate = true;
    }
    state->replaced = existing;
  }
  if (state->duplicate) co_return PutSession(std::move(state));

  // From here on the session's destructor gives everything back.
  in_flight.emplace(name, state.get());
  PutState& put = *state;
  PutSession session(std::move(state));
  co_await puts.acquire(1);
  CO_TRY_VOID(co_await space.restore_ballast(segments.usage()));
  const std::uint64_t bytes = put.header_bytes + put.data_bytes;
  CO_TRY(const std::uint64_t more, space.admit(bytes, request.reserved, segments.usage()));
  auto extent = co_await segments.allocate(bytes, more);
  if (!extent) co_return fail(std::move(extent).error());
  if (request.reserved) space.unreserve(bytes);
  put.extent = *extent;
  put.allocated = true;
  CO_TRY_VOID(put.check_not_deleted());
  co_return session;
}

PutSession::PutSession(std::unique_ptr<PutState> state) : state_(std::move(state)) {}
PutSession::PutSession(PutSession&&) noexcept = default;

PutSession::~PutSession() {
  if (state_ && !state_->duplicate) state_->store.abandon(std::move(state_));
}

bool PutSession::already_durable() const { return state_ && state_->duplicate; }

std::uint64_t PutSession::remaining() const {
  return state_ ? state_->data_bytes - state_->arrived : 0;
}

Task<Result<MutableBytes>> PutSession::next_buffer() {
  PutState& put = *state_;
  CAIRN_CHECK(put.arrived < put.data_bytes);
  if (!put.error.ok()) co_return fail(put.error);
  CO_TRY_VOID(put.check_not_deleted());
  if (!put.duplicate) CO_TRY_VOID(put.store.check_writable());
  if (!put.piece) {
    put.piece = co_await put.store.pieces->acquire();
    put.piece_begin = put.piece_end = kPieceHeadBytes;
    if (put.arrived == 0 && !put.duplicate) {
      put.piece_begin -= put.header_bytes;
      const Superblock& superblock = put.store.superblock->current();
      const FragmentHeader header{superblock.cluster, superblock.target, put.extent.segment,
                                  put.extent.offset,  put.volume,        put.name,
                                  put.geometry,       put.table_hash};
      encode_header(header, as_bytes(put.table),
                    put.piece.memory().subspan(put.piece_begin, put.header_bytes));
    }
  }
  const std::uint64_t room = std::min(put.piece_room(), put.data_bytes - put.arrived);
  co_return put.piece.memory().subspan(put.piece_end, room);
}

Status PutSession::filled(std::uint64_t bytes) {
  PutState& put = *state_;
  CAIRN_CHECK(put.piece && bytes <= put.piece_room() && bytes <= put.data_bytes - put.arrived);
  put.arrived += bytes;
  put.piece_end += bytes;
  const bool whole = put.arrived == put.data_bytes;

  const std::uint64_t complete = whole ? put.arrived : round_down(put.arrived, kBlockBytes);
  if (complete > put.checked) {
    const auto table = codec::HashTableView::make(as_bytes(put.table), put.geometry);
    CAIRN_CHECK(table.has_value());  // begin_put compared the lengths
    const std::uint64_t at = put.piece_end - (put.arrived - put.checked);
    Status verified =
        codec::verify_blocks(*table, put.name.object, put.name.index,
                             static_cast<std::uint32_t>(put.checked / kBlockBytes),
                             Bytes(put.piece.memory()).subspan(at, complete - put.checked));
    if (!verified.ok()) {
      put.error = verified;
      put.error.ignore();  // told here; kept for the calls that follow
      return verified;
    }
    put.checked = complete;
  }
  if (!whole && put.piece_room() > 0) return {};

  if (put.duplicate) {
    put.piece = {};
    return {};
  }
  const std::uint64_t offset = put.extent.offset + put.submitted;
  put.submitted += put.piece_end - put.piece_begin;
  put.writes.spawn(write_piece(put.store, put.extent.segment, offset, std::exchange(put.piece, {}),
                               put.piece_begin, put.piece_end));
  return {};
}

Task<Status> PutSession::finish() {
  PutState& put = *state_;
  if (put.error.ok() && put.arrived != put.data_bytes) {
    put.error = Status(Code::kInvalid, to_string(put.name) + ": " + std::to_string(remaining()) +
                                           " bytes are missing");
  }
  if (put.duplicate || !put.error.ok()) co_return put.error;

  TargetStore::Impl& store = put.store;
  Status done = co_await put.writes.join();
  if (done.ok()) {
    done = co_await store.segments.flush(put.extent.segment);
    if (done.code() == Code::kIo) store.fail_target(done);
  }
  if (done.ok()) done = co_await store.index_fragment(put);
  if (done.ok()) done = put.check_not_deleted();  // once more: others had their turn since
  if (!done.ok()) {
    put.error = done;
    put.error.ignore();
    co_return done;  // the destructor gives the space back
  }
  store.segments.settle(put.extent);
  store.in_flight.erase(put.name);
  store.puts.release(1);
  state_.reset();
  co_return Status();
}

Task<Status> TargetStore::Impl::index_fragment(PutState& put) {
  to_index.push_back(&put);
  if (to_index.size() > 1) {
    co_await indexed.wait();
    co_return put.indexed;
  }
  co_await next_turn(env.executor);
  const Status room = co_await space.make_room_for_index();
  index_together(std::exchange(to_index, {}), room);
  indexed.pulse();
  co_return put.indexed;
}

void TargetStore::Impl::index_together(const std::vector<PutState*>& ready, const Status& room) {
  IndexChange change;
  std::map<SegmentNumber, SegmentRecord> live;
  std::vector<Extent> dead;
  std::uint64_t bytes = 0;
  for (PutState* put : ready) {
    put->indexed = room;
    if (put->indexed.ok()) put->indexed = check_writable();
    if (put->indexed.ok()) put->indexed = put->check_not_deleted();
    if (!put->indexed.ok() || !options.index_fragments) continue;
    if (put->replaced) {
      const Extent& old = put->replaced->extent;
      dead.push_back(old);
      change.put_dead(old);
      live[old.segment] = segments.remove_live(old);
    }
    change.put_fragment(put->name,
                        {FragmentState::kLive, put->extent, put->header_bytes, put->table_hash});
    live[put->extent.segment] = segments.add_live(put->extent);
    bytes += put->extent.bytes;
  }
  if (live.empty()) return;
  for (const auto& [segment, record] : live) change.put_segment(segment, record);
  if (const Status applied = index->apply(change); !applied.ok()) {
    fail_target(applied);
    for (PutState* put : ready) {
      if (put->indexed.ok()) put->indexed = applied;
    }
    return;
  }
  syncer.note(bytes);
  if (!dead.empty()) background.spawn(reclaim_after_sync(std::move(dead)));
}

Task<Status> TargetStore::Impl::punch_and_flush(Extent extent) {
  auto file = co_await segments.file(extent.segment);
  if (!file) co_return std::move(file).error();
  const int punched = co_await env.device.punch((*file)->get(), extent.offset, extent.bytes);
  if (punched < 0) co_return status_from_errno(-punched, "giving an abandoned put's space back");
  co_return co_await segments.flush(extent.segment);
}

void TargetStore::Impl::abandon(std::unique_ptr<PutState> state) {
  background.spawn(abandon_now(std::move(state)));
}

Task<Status> TargetStore::Impl::abandon_now(std::unique_ptr<PutState> state) {
  PutState& put = *state;
  put.piece = {};
  (co_await put.writes.join()).ignore();  // their errors were the put's
  if (put.allocated) {
    // The mark passes only blocks that are indexed, recorded as dead, or given back for good.
    if (put.deleted) {
      reclaimer.add({put.extent});
    } else if (!failed) {
      Status punched = co_await punch_and_flush(put.extent);
      if (!punched.ok()) fail_target(punched);
    }
    segments.settle(put.extent);
  }
  in_flight.erase(put.name);
  puts.release(1);
  reclaimer.poke();
  co_return Status();
}

}  // namespace cairn::store

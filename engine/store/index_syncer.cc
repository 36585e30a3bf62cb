#include "engine/store/index_syncer.h"

#include "engine/base/log.h"

namespace cairn::store {
namespace {

constexpr auto kRetryAfter = std::chrono::seconds(1);

}  // namespace

IndexSyncer::IndexSyncer(env::Env env, FragmentIndex& index, SegmentSet& segments,
                         SuperblockFile& superblock, Space& space, IndexSyncOptions options,
                         std::function<void(const Status&)> failed)
    : env_(env),
      index_(index),
      segments_(segments),
      superblock_(superblock),
      space_(space),
      options_(options),
      failed_(std::move(failed)),
      work_(env.executor),
      done_(env.executor) {
  last_commit_ = last_superblock_ = env_.clock.now();
}

void IndexSyncer::note(std::uint64_t bytes) {
  pending_bytes_ += bytes;
  if (!dirty_ || pending_bytes_ >= options_.every_bytes) work_.set();
  dirty_ = true;
}

Task<Status> IndexSyncer::synced() {
  const std::uint64_t ticket = ++requested_;
  work_.set();
  while (completed_ < ticket) {
    if (!error_.ok()) co_return error_;
    co_await done_.wait();
  }
  co_return Status();
}

void IndexSyncer::stop() {
  stopping_ = true;
  work_.set();
}

void IndexSyncer::fail(const Status& error) {
  if (error_.ok()) error_ = error;
  error_.ignore();  // told to every caller from now on
  done_.pulse();
  work_.set();
}

bool IndexSyncer::due() const {
  return requested_ > completed_ || pending_bytes_ >= options_.every_bytes ||
         env_.clock.now() >= last_commit_ + std::chrono::milliseconds(options_.every_ms);
}

Task<Status> IndexSyncer::run() {
  while (error_.ok()) {
    if (!dirty_ && requested_ == completed_) {
      if (stopping_) co_return Status();
      work_.reset();
      co_await work_.wait();
      continue;
    }
    if (!stopping_ && !due()) {
      work_.reset();
      co_await work_.wait_until(env_.clock,
                                last_commit_ + std::chrono::milliseconds(options_.every_ms));
      continue;
    }
    Status committed = co_await commit_once();
    if (committed.code() == Code::kNoSpace && !stopping_) {
      log_warn("store", "the index can't be synced, trying again: " + committed.to_string());
      dirty_ = true;
      co_await sleep_until(env_.clock, env_.executor, env_.clock.now() + kRetryAfter);
    } else if (!committed.ok() && error_.ok()) {
      failed_(committed);  // calls fail()
      if (error_.ok()) fail(committed);
    }
  }
  co_return error_;
}

Task<Status> IndexSyncer::commit_once() {
  const std::uint64_t covers = requested_;
  const bool somebody_waits = covers > completed_;
  pending_bytes_ = 0;
  dirty_ = false;
  CO_TRY_VOID(co_await space_.make_room_for_index());

  ScanMark mark = segments_.mark();
  mark.commit = commit_ + 1;
  IndexChange change;
  change.put_mark(mark);
  CO_TRY_VOID(index_.apply(change));
  CO_TRY_VOID(co_await index_.sync());
  commit_ = mark.commit;
  last_commit_ = env_.clock.now();

  const bool superblock_due =
      last_commit_ >= last_superblock_ + std::chrono::milliseconds(options_.every_ms);
  if (somebody_waits || superblock_due || stopping_) {
    auto remember = [&mark](Superblock& superblock) {
      superblock.index_commit = mark.commit;
      superblock.segment_mark = mark.segment_highest;
    };
    CO_TRY_VOID(co_await superblock_.update(remember));
    last_superblock_ = env_.clock.now();
  }
  completed_ = covers;
  done_.pulse();
  co_return Status();
}

}  // namespace cairn::store

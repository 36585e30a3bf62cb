#include "engine/store/reclaimer.h"

#include <algorithm>
#include <set>

#include "engine/base/log.h"

namespace cairn::store {
namespace {

constexpr auto kRetryAfter = std::chrono::seconds(1);

}  // namespace

Reclaimer::Reclaimer(env::Env env, FragmentIndex& index, SegmentSet& segments, IndexSyncer& syncer,
                     ReadPins& pins, std::function<void(const Status&)> failed)
    : env_(env),
      index_(index),
      segments_(segments),
      syncer_(syncer),
      pins_(pins),
      failed_(std::move(failed)),
      work_(env.executor) {}

void Reclaimer::add(const std::vector<Extent>& dead) {
  queue_.insert(queue_.end(), dead.begin(), dead.end());
  work_.set();
}

void Reclaimer::stop() {
  stopping_ = true;
  work_.set();
}

Task<Status> Reclaimer::run() {
  while (!stopping_) {
    work_.reset();
    Status done = co_await drop_empty_segments();
    if (done.ok()) done = co_await give_back_some();
    if (done.code() == Code::kUnavailable) {  // out of descriptors, for example: nothing is wrong
      log_warn("store", "giving blocks back, trying again: " + done.to_string());
      co_await work_.wait_until(env_.clock, env_.clock.now() + kRetryAfter);
    } else if (!done.ok()) {
      // Nothing is lost: the dead records stay, and the next start tries again.
      failed_(done);
      co_return done;
    } else if (queue_.empty()) {
      co_await work_.wait();
    }
  }
  co_return Status();
}

Task<Status> Reclaimer::give_back_some() {
  const std::size_t count = std::min<std::size_t>(queue_.size(), kDeleteBatchMax);
  IndexChange forget;
  std::set<SegmentNumber> punched;
  for (std::size_t i = 0; i < count; ++i) {
    const Extent extent = queue_[i];
    if (!segments_.contains(extent.segment)) continue;  // went as a whole
    co_await pins_.wait_until_free(extent);
    auto file = co_await segments_.file(extent.segment);
    if (!file) co_return std::move(file).error();
    const int result = co_await env_.device.punch((*file)->get(), extent.offset, extent.bytes);
    if (result < 0) co_return status_from_errno(-result, "giving blocks back");
    punched.insert(extent.segment);
    forget.erase_dead(extent);
  }
  for (const SegmentNumber segment : punched) CO_TRY_VOID(co_await segments_.flush(segment));
  if (!punched.empty()) CO_TRY_VOID(index_.apply(forget));
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  co_return Status();
}

Task<Status> Reclaimer::drop_empty_segments() {
  const std::vector<SegmentNumber> empty = segments_.empty_closed();
  if (empty.empty()) co_return Status();
  IndexChange forget;
  for (const SegmentNumber segment : empty) forget.erase_segment(segment);
  CO_TRY_VOID(index_.apply(forget));
  // The file goes after its records are durably gone; a crash in between leaves a file that no
  // record names at or below the mark, and the next start unlinks it.
  CO_TRY_VOID(co_await syncer_.synced());
  for (const SegmentNumber segment : empty) {
    co_await pins_.wait_until_segment_free(segment);
    segments_.forget(segment);
    CO_TRY_VOID(co_await segments_.unlink(segment));
  }
  co_return Status();
}

}  // namespace cairn::store

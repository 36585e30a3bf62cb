#include "tests/sim/support/scheduler.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>

#include "engine/base/check.h"

namespace cairn::sim {
namespace {

namespace asio = boost::asio;

/// Tasks at one virtual instant before it is called a loop that never lets time pass.
constexpr std::uint64_t kEventsPerInstantMax = 20'000'000;
/// Wall time at the start of every simulation: 2026-01-01T00:00:00Z.
constexpr std::int64_t kWallStartSeconds = 1'767'225'600;

/// The executor as Asio wants it: never runs anything inside execute().
class SimExecutor {
 public:
  explicit SimExecutor(SimScheduler& scheduler) : scheduler_(&scheduler) {}

  asio::execution_context& query(asio::execution::context_t) const noexcept {
    return scheduler_->context();
  }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  SimExecutor require(asio::execution::blocking_t::never_t) const { return *this; }

  template <class F>
  void execute(F&& f) const {
    scheduler_->post(Callback(std::forward<F>(f)));
  }
  bool operator==(const SimExecutor&) const noexcept = default;

 private:
  SimScheduler* scheduler_;
};

}  // namespace

SimScheduler::SimScheduler(std::uint64_t seed)
    : seed_(seed), random_(seed), context_(std::make_unique<asio::execution_context>()) {
  now_ += std::chrono::seconds(1);  // so that "a moment ago" is representable at the start
}

SimScheduler::~SimScheduler() {
  // Handlers may own coroutines whose locals cancel timers: both containers must still be alive.
  while (!ready_.empty() || !timers_.empty()) {
    std::deque<Callback> ready = std::exchange(ready_, {});
    std::map<TimerKey, Callback> timers = std::exchange(timers_, {});
  }
}

Executor SimScheduler::executor() { return SimExecutor(*this); }

env::WallTime SimScheduler::wall_now() const {
  return env::WallTime(std::chrono::seconds(kWallStartSeconds)) + now_.time_since_epoch();
}

SimScheduler::TimerId SimScheduler::add_timer(env::MonotonicTime when, Callback callback) {
  const TimerKey key{std::max(when, now_), random_.next(), ++last_timer_};
  timer_keys_.emplace(key.id, key);
  timers_.emplace(key, std::move(callback));
  return key.id;
}

SimScheduler::TimerId SimScheduler::call_at(env::MonotonicTime when,
                                            std::function<void()> callback) {
  return add_timer(when, std::move(callback));
}

SimScheduler::TimerId SimScheduler::call_after(env::Duration delay, Callback callback) {
  return add_timer(now_ + delay, std::move(callback));
}

void SimScheduler::cancel(TimerId timer) {
  const auto found = timer_keys_.find(timer);
  if (found == timer_keys_.end()) return;
  timers_.erase(found->second);
  timer_keys_.erase(found);
}

Task<void> SimScheduler::sleep(env::Duration delay) {
  auto suspend = [this, delay](auto handler) { call_after(delay, std::move(handler)); };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(std::move(suspend),
                                                                       asio::use_awaitable);
}

void SimScheduler::fire_first_timer() {
  auto first = timers_.extract(timers_.begin());
  timer_keys_.erase(first.key().id);
  if (first.key().when > now_) events_at_this_time_ = 0;
  now_ = first.key().when;
  trace(TraceKind::kTimer, first.key().id);
  first.mapped()();
}

bool SimScheduler::run_one() {
  if (ready_.empty() && timers_.empty()) return false;
  ++events_;
  if (++events_at_this_time_ > kEventsPerInstantMax) {
    std::fprintf(stderr, "simulator: work never lets time pass (seed %llu)\n",
                 static_cast<unsigned long long>(seed_));
    CAIRN_CHECK(events_at_this_time_ <= kEventsPerInstantMax);
  }
  if (ready_.empty()) {
    fire_first_timer();
    return true;
  }
  Callback work = std::move(ready_.front());
  ready_.pop_front();
  trace(TraceKind::kTask);
  work();
  return true;
}

void SimScheduler::run_until_idle() {
  while (run_one()) {
  }
}

bool SimScheduler::run_until(const std::function<bool()>& done, env::MonotonicTime deadline) {
  while (!done()) {
    const bool passes =
        ready_.empty() && !timers_.empty() && timers_.begin()->first.when > deadline;
    if (passes || !run_one()) return false;
  }
  return true;
}

void SimScheduler::run_for(env::Duration span) {
  const env::MonotonicTime end = now_ + span;
  run_until([] { return false; }, end);
  now_ = std::max(now_, end);
}

void SimScheduler::must_run_until(const std::function<bool()>& done) {
  if (run_until(done)) return;
  std::fprintf(stderr, "simulator: a task waits and nothing will ever wake it (seed %llu)\n",
               static_cast<unsigned long long>(seed_));
  CAIRN_CHECK(done());
}

Task<void> SimScheduler::capture(Task<void> task, bool* done) {
  co_await std::move(task);
  *done = true;
}

void SimScheduler::run(Task<void> task) {
  bool done = false;
  cairn::spawn(executor(), capture(std::move(task), &done));
  must_run_until([&done] { return done; });
}

void SimScheduler::trace(TraceKind kind, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  trace_.fold(static_cast<std::uint64_t>(now_.time_since_epoch().count()) ^
              static_cast<std::uint64_t>(kind) << 56);
  if ((a | b | c) == 0) return;
  trace_.fold(a);
  trace_.fold(b);
  trace_.fold(c);
}

}  // namespace cairn::sim

// Test support: one context and a clock that moves only when told, so no test here takes or asserts
// time.  One thread: the test's.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <utility>

#include "engine/env/clock.h"
#include "engine/env/sync.h"
#include "engine/env/task.h"

namespace cairn::testing {

class ManualClock final : public env::Clock {
 public:
  env::MonotonicTime now() const override { return now_; }
  env::WallTime wall_now() const override { return {}; }

  TimerId call_at(env::MonotonicTime when, std::function<void()> callback) override {
    const TimerId id = ++last_id_;
    timers_.emplace(std::pair(when, id), std::move(callback));
    return id;
  }

  void cancel(TimerId timer) override {
    std::erase_if(timers_, [timer](const auto& entry) { return entry.first.second == timer; });
  }

  /// Moves to `when` and runs what is due; the callbacks may set and cancel timers.
  void advance_to(env::MonotonicTime when) {
    now_ = when;
    while (!timers_.empty() && timers_.begin()->first.first <= now_) {
      auto due = timers_.extract(timers_.begin());
      due.mapped()();
    }
  }

  std::size_t pending() const { return timers_.size(); }

 private:
  env::MonotonicTime now_{};
  TimerId last_id_ = 0;
  std::map<std::pair<env::MonotonicTime, TimerId>, std::function<void()>> timers_;
};

struct EnvWorld {
  boost::asio::io_context context;
  Executor executor{context.get_executor()};
  ManualClock clock;

  /// Runs all that can run now.  Coroutines that wait stay where they are.
  void settle() {
    context.restart();
    context.poll();
  }

  void advance(env::Duration by) {
    clock.advance_to(clock.now() + by);
    settle();
  }
};

}  // namespace cairn::testing

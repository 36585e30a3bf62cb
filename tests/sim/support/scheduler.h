// One simulated thread: an executor for Asio coroutines and a clock in virtual time, both driven by
// a seed.  Ready work runs in the order it was posted, as on a real io_context; what the seed
// decides is how long each thing outside the thread takes, and which of two timers of one instant
// is first. Time stands still while anything is ready and then jumps to the next timer.
//
// Not a thread pool and not thread-safe: everything of one simulation belongs to one thread.
// Who calls it: tests, and the simulated devices of this folder.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "engine/base/random.h"
#include "engine/env/clock.h"
#include "engine/env/sync.h"
#include "engine/env/task.h"
#include "tests/sim/support/trace.h"

namespace boost::asio {
class execution_context;
}

namespace cairn::sim {

/// A callable that is moved, never copied: handlers of coroutines are like that.
class Callback {
 public:
  Callback() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Callback>)
  Callback(F&& f)  // NOLINT(google-explicit-constructor)
      : body_(std::make_unique<Body<std::remove_cvref_t<F>>>(std::forward<F>(f))) {}
  explicit operator bool() const { return body_ != nullptr; }
  void operator()() { body_->call(); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual void call() = 0;
  };
  template <class F>
  struct Body final : Base {
    template <class G>
    explicit Body(G&& g) : f(std::forward<G>(g)) {}
    void call() override { std::move(f)(); }
    F f;
  };
  std::unique_ptr<Base> body_;
};

/// What kind of thing the trace saw; the numbers only have to differ.
enum class TraceKind : std::uint8_t {
  kTask = 1,
  kTimer,
  kDeviceStart,
  kDeviceEnd,
  kFile,
  kStore,
  kFault,
  kCrash,
  kTest,
};

class SimScheduler final : public env::Clock {
 public:
  static constexpr env::MonotonicTime kNever = env::MonotonicTime::max();

  explicit SimScheduler(std::uint64_t seed);
  ~SimScheduler() override;
  SimScheduler(const SimScheduler&) = delete;
  SimScheduler& operator=(const SimScheduler&) = delete;

  Executor executor();
  boost::asio::execution_context& context() { return *context_; }
  void post(Callback work) { ready_.push_back(std::move(work)); }

  env::MonotonicTime now() const override { return now_; }
  env::WallTime wall_now() const override;
  TimerId call_at(env::MonotonicTime when, std::function<void()> callback) override;
  void cancel(TimerId timer) override;
  /// call_at for callables that can't be copied.
  TimerId call_after(env::Duration delay, Callback callback);
  /// Suspends the coroutine for `delay` of virtual time.
  Task<void> sleep(env::Duration delay);

  /// Runs one ready task, or else the next timer.  False when there is neither.
  bool run_one();
  void run_until_idle();
  /// Runs until `done()`.  False when the simulation went idle, or would pass `deadline`, first.
  bool run_until(const std::function<bool()>& done, env::MonotonicTime deadline = kNever);
  /// Runs everything that happens within the next `span`, then stands at its end.
  void run_for(env::Duration span);
  /// Runs `task` to its end and gives its value.  A task that waits for ever aborts the test.
  template <class T>
  T run(Task<T> task);
  void run(Task<void> task);

  /// Every choice of the simulation comes from here, or from a generator split off here.
  SplitMix64& random() { return random_; }
  SplitMix64 split_random() { return SplitMix64(random_.next()); }
  std::uint64_t seed() const { return seed_; }

  /// Folds something that happened, with the time, into the trace.
  void trace(TraceKind kind, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0);
  Trace& trace() { return trace_; }
  std::uint64_t trace_hash() const { return trace_.hash(); }
  std::uint64_t events() const { return events_; }

 private:
  struct TimerKey {
    env::MonotonicTime when;
    std::uint64_t tie;  ///< random: two timers of one instant have no order that may be relied on
    TimerId id;
    auto operator<=>(const TimerKey&) const = default;
  };
  TimerId add_timer(env::MonotonicTime when, Callback callback);
  void fire_first_timer();
  template <class T>
  static Task<void> capture(Task<T> task, std::optional<T>* out);
  static Task<void> capture(Task<void> task, bool* done);
  void must_run_until(const std::function<bool()>& done);

  std::uint64_t seed_;
  SplitMix64 random_;
  std::unique_ptr<boost::asio::execution_context> context_;
  env::MonotonicTime now_{};
  std::deque<Callback> ready_;
  std::map<TimerKey, Callback> timers_;
  std::unordered_map<TimerId, TimerKey> timer_keys_;  // looked up, never iterated
  TimerId last_timer_ = 0;
  Trace trace_;
  std::uint64_t events_ = 0;
  std::uint64_t events_at_this_time_ = 0;
};

template <class T>
Task<void> SimScheduler::capture(Task<T> task, std::optional<T>* out) {
  T value = co_await std::move(task);
  out->emplace(std::move(value));
}

template <class T>
T SimScheduler::run(Task<T> task) {
  std::optional<T> out;
  cairn::spawn(executor(), capture(std::move(task), &out));
  must_run_until([&out] { return out.has_value(); });
  return *std::move(out);
}

}  // namespace cairn::sim

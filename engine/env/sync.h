// Waiting inside one executor: events, permits, and groups of coroutines.  Everything here belongs
// to one executor and needs no lock.  Waiters resume in the order they came, from the executor's
// queue, never inside the call that woke them.
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "engine/base/status.h"
#include "engine/env/clock.h"
#include "engine/env/task.h"

namespace cairn {

/// Something coroutines wait for.  Level-triggered: set() wakes all and lets later waits through
/// until reset().
class Event {
 public:
  explicit Event(Executor executor) : executor_(std::move(executor)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  void set();
  void reset() { set_ = false; }
  bool is_set() const { return set_; }
  /// Wakes those who wait now and stays unset.
  void pulse();
  Task<void> wait();
  /// False when `deadline` passed first.
  Task<bool> wait_until(env::Clock& clock, env::MonotonicTime deadline);

 private:
  struct Waiter;
  Task<bool> wait_for(std::shared_ptr<Waiter> waiter);
  void wake_all();

  Executor executor_;
  bool set_ = false;
  std::deque<std::shared_ptr<Waiter>> waiters_;
};

/// A count of something limited; first come, first served, so a large request is not starved.
class Permits {
 public:
  Permits(Executor executor, std::uint64_t count)
      : executor_(std::move(executor)), available_(count) {}
  ~Permits();
  Permits(const Permits&) = delete;
  Permits& operator=(const Permits&) = delete;

  /// Waits until `count` are free and takes them.  `count` must not exceed the total, else for
  /// ever.
  Task<void> acquire(std::uint64_t count);
  bool try_acquire(std::uint64_t count);
  void release(std::uint64_t count);
  std::uint64_t available() const { return available_; }
  std::size_t waiting() const { return waiters_.size(); }

 private:
  struct Waiter {
    std::uint64_t count;
    boost::asio::any_completion_handler<void()> handler;
  };
  void grant();

  Executor executor_;
  std::uint64_t available_;
  std::deque<Waiter> waiters_;
};

/// Coroutines started together and awaited together.  The owner must await join() before the group
/// dies; the first error is kept.
class TaskGroup {
 public:
  explicit TaskGroup(Executor executor) : executor_(std::move(executor)), idle_(executor_) {
    idle_.set();
  }
  ~TaskGroup() { CAIRN_CHECK(running_ == 0); }
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void spawn(Task<Status> task);
  /// Waits for all, returns the first error in order of completion, and makes the group reusable.
  Task<Status> join();
  std::size_t running() const { return running_; }

 private:
  Executor executor_;
  Event idle_;
  std::size_t running_ = 0;
  Status first_error_;
};

/// Runs `task` on `executor` without waiting.  An exception that leaves it aborts the process.
void spawn(const Executor& executor, Task<void> task);

/// Resumes behind everything that is ready now.
Task<void> next_turn(const Executor& executor);

/// Returns at or after `deadline`.
Task<void> sleep_until(env::Clock& clock, const Executor& executor, env::MonotonicTime deadline);

}  // namespace cairn

// Time, injected.  Monotonic time orders and measures; wall time is for people and records.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace cairn::env {

using Duration = std::chrono::nanoseconds;
/// Since an arbitrary start; never goes back.
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
/// Since 1970-01-01T00:00:00Z.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

class Clock {
 public:
  using TimerId = std::uint64_t;

  virtual ~Clock() = default;
  virtual MonotonicTime now() const = 0;
  virtual WallTime wall_now() const = 0;
  /// Runs `callback` once on the executor at or after `when`.  Ids are never 0 and never reused.
  /// Thread: the executor's, like cancel.
  virtual TimerId call_at(MonotonicTime when, std::function<void()> callback) = 0;
  /// The callback will not run afterwards.  Unknown or finished ids are ignored.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace cairn::env

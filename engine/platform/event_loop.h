// The event loop of one thread: what an executor of the real environment runs on.  It hides Asio's
// io_context, so that main functions, benches and tests own a loop without naming it.
//
// What this is not: a thread.  Whoever calls run() is the loop's thread while the call lasts, and
// always the same one: devices made for the loop belong to it.
#pragma once

#include <memory>

#include "engine/env/task.h"

namespace boost::asio {
class io_context;
}

namespace cairn::platform {

class EventLoop {
 public:
  EventLoop();
  /// Everything made for the loop is gone by now; coroutines that never ended are destroyed.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  boost::asio::io_context& context() { return *context_; }
  Executor executor() const;

  /// Runs `task` and whatever else is ready until the task has ended; the rest stays suspended
  /// until the next run().  Not from inside the loop.
  void run(Task<void> task);
  /// Runs what is ready now, without waiting.
  void poll();

 private:
  std::unique_ptr<boost::asio::io_context> context_;
};

}  // namespace cairn::platform

#include "engine/platform/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <utility>

#include "engine/base/check.h"
#include "engine/env/sync.h"

namespace cairn::platform {
namespace {

Task<void> run_and_mark(Task<void> task, bool& done) {
  co_await std::move(task);
  done = true;
}

}  // namespace

EventLoop::EventLoop() : context_(std::make_unique<boost::asio::io_context>(1)) {}
EventLoop::~EventLoop() = default;

Executor EventLoop::executor() const { return context_->get_executor(); }

void EventLoop::run(Task<void> task) {
  bool done = false;
  // Without it the context would stop whenever only a helper thread holds the next step.
  const auto work = boost::asio::make_work_guard(*context_);
  spawn(executor(), run_and_mark(std::move(task), done));
  context_->restart();
  while (!done) CAIRN_CHECK(context_->run_one() > 0);
}

void EventLoop::poll() {
  context_->restart();
  context_->poll();
}

}  // namespace cairn::platform

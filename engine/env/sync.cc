#include "engine/env/sync.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace cairn {
namespace asio = boost::asio;

/// Shared by the event's list and by the timer of wait_until: whichever comes first takes the
/// handler.
struct Event::Waiter {
  asio::any_completion_handler<void(bool)> handler;
};

Event::~Event() { CAIRN_CHECK(waiters_.empty()); }

void Event::set() {
  set_ = true;
  wake_all();
}

void Event::pulse() { wake_all(); }

void Event::wake_all() {
  for (const auto& waiter : std::exchange(waiters_, {})) {
    if (!waiter->handler) continue;  // its deadline passed
    asio::post(executor_,
               [handler = std::move(waiter->handler)]() mutable { std::move(handler)(true); });
  }
}

Task<bool> Event::wait_for(std::shared_ptr<Waiter> waiter) {
  auto suspend = [this, waiter](auto handler) {
    // By swap: the move assignment of Boost 1.81's any_completion_handler calls itself for ever.
    decltype(Waiter::handler) erased(std::move(handler));
    erased.swap(waiter->handler);
    waiters_.push_back(waiter);
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(bool)>(
      std::move(suspend), asio::use_awaitable);
}

Task<void> Event::wait() {
  if (set_) co_return;
  co_await wait_for(std::make_shared<Waiter>());
}

Task<bool> Event::wait_until(env::Clock& clock, env::MonotonicTime deadline) {
  if (set_) co_return true;
  auto waiter = std::make_shared<Waiter>();
  const auto timer = clock.call_at(deadline, [this, waiter] {
    if (!waiter->handler) return;  // woken already
    std::erase(waiters_, waiter);
    auto handler = std::move(waiter->handler);
    std::move(handler)(false);
  });
  const bool woken = co_await wait_for(waiter);
  clock.cancel(timer);
  co_return woken;
}

Permits::~Permits() { CAIRN_CHECK(waiters_.empty()); }

bool Permits::try_acquire(std::uint64_t count) {
  if (!waiters_.empty() || available_ < count) return false;
  available_ -= count;
  return true;
}

Task<void> Permits::acquire(std::uint64_t count) {
  if (try_acquire(count)) co_return;
  auto suspend = [this, count](auto handler) { waiters_.push_back({count, std::move(handler)}); };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(std::move(suspend),
                                                                       asio::use_awaitable);
}

void Permits::release(std::uint64_t count) {
  available_ += count;
  grant();
}

void Permits::grant() {
  while (!waiters_.empty() && waiters_.front().count <= available_) {
    available_ -= waiters_.front().count;
    asio::post(executor_,
               [handler = std::move(waiters_.front().handler)]() mutable { std::move(handler)(); });
    waiters_.pop_front();
  }
}

void TaskGroup::spawn(Task<Status> task) {
  ++running_;
  idle_.reset();
  auto finished = [this](std::exception_ptr error, Status status) {
    if (error) std::terminate();  // errors are values; an exception here is a bug
    if (!status.ok() && first_error_.ok()) first_error_ = std::move(status);
    if (--running_ == 0) idle_.set();
  };
  asio::co_spawn(executor_, std::move(task), std::move(finished));
}

Task<Status> TaskGroup::join() {
  // A task may be spawned between the end of the last one and this coroutine's turn.
  while (running_ != 0) co_await idle_.wait();
  co_return std::exchange(first_error_, Status());
}

void spawn(const Executor& executor, Task<void> task) {
  auto finished = [](std::exception_ptr error) {
    if (error) std::terminate();
  };
  asio::co_spawn(executor, std::move(task), std::move(finished));
}

Task<void> next_turn(const Executor& executor) {
  co_await asio::post(executor, asio::use_awaitable);
}

Task<void> sleep_until(env::Clock& clock, const Executor& executor, env::MonotonicTime deadline) {
  Event never(executor);
  co_await never.wait_until(clock, deadline);
}

}  // namespace cairn

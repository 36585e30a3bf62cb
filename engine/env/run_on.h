// Runs one blocking call somewhere else and comes back.  For system calls that can't be bounded or
// awaited (open, fallocate, fsync of a directory): the caller's executor must never wait for a
// disk. Not a thread pool: who owns `elsewhere` stops it before the caller's executor goes.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/env/task.h"

namespace cairn {

/// Calls `work` once on `elsewhere` and returns its value on the caller's executor.  `work` must
/// not throw; what it refers to stays valid until this returns.
template <class Work>
Task<std::invoke_result_t<Work&>> run_on(Executor elsewhere, Work work) {
  namespace asio = boost::asio;
  std::optional<std::invoke_result_t<Work&>> value;
  auto start = [elsewhere, &work, &value](auto handler) {
    // Tracked work keeps the caller's executor running while nothing else is queued on it.
    auto home = asio::prefer(asio::get_associated_executor(handler),
                             asio::execution::outstanding_work.tracked);
    auto call = [home, &work, &value, handler = std::move(handler)]() mutable {
      value.emplace(work());
      asio::post(home, std::move(handler));
    };
    asio::post(elsewhere, std::move(call));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(std::move(start),
                                                                       asio::use_awaitable);
  co_return *std::move(value);
}

}  // namespace cairn

// Task<T>: a coroutine on an injected executor.  The same type runs on Asio's io_context in
// production and on the seeded executor of the simulator.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace cairn {

template <class T = void>
using Task = boost::asio::awaitable<T, boost::asio::any_io_executor>;

/// Where coroutines of one component run.  One thread at a time; never two at once.
using Executor = boost::asio::any_io_executor;

}  // namespace cairn

// The real environment: one thread with an io_context per target, the system's clock, files and
// randomness.  Only main functions, benches and tests of the platform include this.
#pragma once

#include <memory>

#include "engine/env/clock.h"
#include "engine/env/files.h"
#include "engine/env/random.h"
#include "engine/env/task.h"

namespace boost::asio {
class io_context;
}

namespace cairn::platform {

/// Clock on steady_timer; call_at and cancel on the context's thread.
std::unique_ptr<env::Clock> make_clock(boost::asio::io_context& context);
/// Random bytes from the kernel (getrandom).
std::unique_ptr<env::Random> make_random();
/// POSIX files; Task members run on a helper thread and resume on the context.
std::unique_ptr<env::Files> make_files(boost::asio::io_context& context);

/// Ignores SIGPIPE.  First thing in every main.
void ignore_sigpipe();

}  // namespace cairn::platform

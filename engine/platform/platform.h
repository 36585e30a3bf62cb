// The real environment: one thread with an io_context per target, the system's clock, files and
// randomness.  Only main functions, benches and tests of the platform include this.
#pragma once

#include <memory>
#include <string_view>

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
/// What Files::replace adds to a path while it writes; a crash may leave one such file behind, and
/// the next replace of the path takes it over.
inline constexpr std::string_view kTemporarySuffix = ".tmp";

/// POSIX files; Task members run on a helper thread and resume on the context.  One writer per
/// path: the caller's lock of the folder sees to it.  The context outlives it.
std::unique_ptr<env::Files> make_files(boost::asio::io_context& context);

/// Ignores SIGPIPE.  First thing in every main.
void ignore_sigpipe();

}  // namespace cairn::platform

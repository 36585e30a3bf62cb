// BlockDevice on io_uring: one ring per target, driven by the target's own thread.
//
// O_DIRECT files, registered files and memory, batched submission (one submit per round of the
// executor), at most kDeviceDepth operations in flight and kDeviceQueueMax waiting, completions
// through the ring's eventfd into the executor.  Names are opened, allocated, truncated and closed
// on a helper thread, because those calls can't be bounded by the ring.
//
// Made on any thread; from its first operation on it belongs to the thread that runs the context
// (SINGLE_ISSUER), and is destroyed there, or anywhere once nothing is in flight.  The destructor
// waits until the kernel has let go of all memory; coroutines that wait for an operation never go
// on, and end when the context runs next or is destroyed.  So: device, then one poll() of the
// context (or better, join the coroutines first), then pools, then the context.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/limits.h"
#include "engine/env/device.h"

namespace boost::asio {
class io_context;
}

namespace cairn::io {

struct UringOptions {
  std::uint32_t depth = kDeviceDepth;
  std::uint32_t registered_files = kOpenFilesMax;
  bool register_buffers = true;  ///< off: to test the fall-back
};

/// What the ring did; read on the executor's thread.
struct UringStats {
  std::uint64_t reads = 0, writes = 0, flushes = 0, punches = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;
  std::uint64_t submit_calls = 0;
  std::uint64_t resubmitted = 0;  ///< EINTR, EAGAIN
  std::uint32_t in_flight_max = 0;
  bool fixed_buffers = false;
  bool registered_files = false;
};

/// Makes the device for `context`'s thread.  When registration is refused (locked memory) it goes
/// on without and logs once; kUnavailable (no_descriptors) when the ring itself can't be made.
Result<std::unique_ptr<env::BlockDevice>> make_uring_device(boost::asio::io_context& context,
                                                            UringOptions options);
/// The statistics of a device made by make_uring_device.
UringStats uring_stats(const env::BlockDevice& device);

}  // namespace cairn::io

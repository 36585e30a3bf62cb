// Group commit: many fragments share one device flush.  A caller is covered by the first flush that
// starts after it asked; whoever asks meanwhile shares the next one.
#pragma once

#include <cstdint>

#include "engine/env/device.h"
#include "engine/env/sync.h"

namespace cairn::store {

/// Thread: the target's.  Outlives its callers.
class FlushGroup {
 public:
  explicit FlushGroup(const Executor& executor) : done_(executor) {}

  /// Makes every write to `file` that completed before this call durable.  A flush that failed is
  /// never retried: the kernel may have dropped the pages, so its success would mean nothing.
  Task<Status> flush(env::BlockDevice& device, env::DeviceFile file);

 private:
  std::uint64_t requested_ = 0;
  std::uint64_t covered_ = 0;  ///< requests up to here are durable
  bool running_ = false;
  Status error_;
  Event done_;
};

}  // namespace cairn::store

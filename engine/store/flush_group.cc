#include "engine/store/flush_group.h"

#include "engine/io/transfer.h"

namespace cairn::store {

Task<Status> FlushGroup::flush(env::BlockDevice& device, env::DeviceFile file) {
  const std::uint64_t ticket = ++requested_;
  while (covered_ < ticket) {
    if (!error_.ok()) co_return error_;
    if (running_) {
      co_await done_.wait();
      continue;
    }
    running_ = true;
    const std::uint64_t covers = requested_;
    Status flushed = co_await io::flush(device, file);
    running_ = false;
    if (flushed.ok()) {
      covered_ = covers;
    } else {
      error_ = std::move(flushed);
    }
    done_.pulse();
  }
  co_return Status();
}

}  // namespace cairn::store

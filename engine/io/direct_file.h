// System calls on files that are not transfers: open for direct I/O, preallocate, cut, look for
// data. No ring in here.  UringDevice calls those that may wait for a disk on its helper thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/status.h"
#include "engine/env/device.h"

namespace cairn::io {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

/// BlockDevice::open without the device.  A file system without O_DIRECT (ramfs, some network file
/// systems) is used through its cache after one log line: flushes still reach the medium, speed
/// does not.  kNoSpace and every other failure of kCreate: nothing was left behind.  Thread: any.
Result<Descriptor> open_direct(const std::string& path, env::DeviceOpen mode,
                               std::uint64_t allocate_bytes);

/// The rest of BlockDevice that no ring does (yet): a value >= 0, or -errno.
std::int64_t next_data_of(const Descriptor& file, std::uint64_t from);
std::int64_t length_of(const Descriptor& file);
int cut(const Descriptor& file, std::uint64_t length);

}  // namespace cairn::io

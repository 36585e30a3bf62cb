// A file system of a test's own in a sparse file: it can be filled, and its power can be cut.
//
// The mounts live in a mount namespace of this process, so they are gone when it is, however it
// dies; the kernel frees the loop device with the last mount.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/status.h"

namespace cairn::crash {

class LoopFs {
 public:
  /// Why none can be made here; empty when one can.  For GTEST_SKIP.
  static std::string unavailable(const std::string& type);

  /// Makes an image of `bytes` in `folder`, formats it as `type` (ext4 or xfs) and mounts it.
  /// Called on the main thread before others are started: they inherit the namespace.
  static Result<std::unique_ptr<LoopFs>> make(const std::string& folder, const std::string& type,
                                              std::uint64_t bytes);
  ~LoopFs();
  LoopFs(const LoopFs&) = delete;
  LoopFs& operator=(const LoopFs&) = delete;

  const std::string& mount_point() const { return mount_point_; }

  /// As a power cut does it: from now on nothing reaches the device, and what the file system has
  /// not made durable is lost.  Who has files open gets EIO.
  Status cut_power();
  /// Mounts again after a cut, which replays the journal.  Nobody may have files open.
  Status remount();

 private:
  LoopFs(std::string folder, std::string type)
      : folder_(std::move(folder)), type_(std::move(type)) {}
  Status mount();
  Status unmount();

  std::string folder_;
  std::string type_;
  std::string mount_point_;
  bool mounted_ = false;
};

}  // namespace cairn::crash

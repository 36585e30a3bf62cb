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

/// Mounts made by this process and its children from now on are gone when it is.  Once a process,
/// on the main thread before others are started.
Status enter_own_mount_namespace();

class LoopFs {
 public:
  /// Why none can be made here; empty when one can.  For GTEST_SKIP.
  static std::string unavailable(const std::string& type);

  /// Makes an image of `bytes` in `folder`, formats it as `type` (ext4 or xfs) and mounts it.
  /// Called on the main thread before others are started: they inherit the namespace.
  static Result<std::unique_ptr<LoopFs>> make(const std::string& folder, const std::string& type,
                                              std::uint64_t bytes);
  /// The same on a file that is there; `folder` takes the mount point.
  static Result<std::unique_ptr<LoopFs>> make_on(const std::string& image,
                                                 const std::string& folder,
                                                 const std::string& type);
  ~LoopFs();
  LoopFs(const LoopFs&) = delete;
  LoopFs& operator=(const LoopFs&) = delete;

  const std::string& mount_point() const { return mount_point_; }

  /// As a power cut does it: from now on nothing reaches the device, and what the file system has
  /// not made durable is lost.  Who has files open gets EIO.
  Status cut_power();
  /// Mounts again after a cut, which replays the journal.  Nobody may have files open.
  Status remount();

  Status mount();
  Status unmount();
  /// No request to the file below is larger, until the next unmount.  A loop device takes a write
  /// that the file did in part for a whole one, so a file that cuts requests may lose bytes
  /// without an error.
  Status limit_requests(std::uint64_t bytes);
  /// What a machine does before it mounts after a crash.  kIo: damage that needs an operator.
  Status preen();

 private:
  LoopFs(std::string image, std::string folder, std::string type)
      : image_(std::move(image)), folder_(std::move(folder)), type_(std::move(type)) {}

  std::string image_;
  std::string folder_;
  std::string type_;
  std::string mount_point_;
  bool mounted_ = false;
};

}  // namespace cairn::crash

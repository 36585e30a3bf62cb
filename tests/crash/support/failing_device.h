// A file that behaves as a block device whose writes fail from a chosen moment on: nbdkit's error
// filter over an image, seen as a file by nbdfuse, so that a file system on it is a real one and
// its errors come from below.
//
// One child (nbdfuse, whose own child nbdkit ends with it); its mount lives in this process' mount
// namespace and ends with it, however it dies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/cairn_bench/target/child.h"
#include "engine/base/status.h"
#include "engine/base/units.h"

namespace cairn::crash {

class FailingDevice {
 public:
  /// The least that FUSE does in one piece: a larger request may fail in its second piece, and who
  /// asked for it has to look at how much was done.
  static constexpr std::uint64_t kRequestBytesMax = 128 * kKiB;

  /// Why none can be made here; empty when one can.  For GTEST_SKIP.
  static std::string unavailable();

  /// @param folder        of its own, exists
  /// @param percent       of writes that fail while errors are on
  static Result<std::unique_ptr<FailingDevice>> make(const std::string& folder, std::uint64_t bytes,
                                                     std::uint32_t percent);
  ~FailingDevice();
  FailingDevice(const FailingDevice&) = delete;
  FailingDevice& operator=(const FailingDevice&) = delete;

  /// What to put a file system on.
  const std::string& file() const { return file_; }
  Status start_errors();
  Status stop_errors();
  /// Writes that failed so far.
  std::uint64_t errors() const;

 private:
  explicit FailingDevice(std::string folder);
  Status start(std::uint32_t percent);

  std::string folder_;
  std::string mount_point_;
  std::string file_;
  std::string trigger_;
  std::unique_ptr<bench::Child> server_;
};

}  // namespace cairn::crash

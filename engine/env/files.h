// Names in the file system: what is left of it beside device I/O.  Every failed listing or stat is
// an error, never "empty" or "absent" (I7).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/status.h"
#include "engine/env/task.h"

namespace cairn::env {

struct DirectoryEntry {
  std::string name;  ///< without the directory
  bool is_directory = false;
  std::uint64_t bytes = 0;
};

struct SpaceInfo {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< what this process may still allocate
};

/// Held until destroyed; another process or another call gets kUnavailable (locked) meanwhile.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// Task members may wait for a disk and run off the caller's thread; the others return at once and
/// are meant for start-up and tools.
class Files {
 public:
  virtual ~Files() = default;

  /// One level; kExists when there is something at `path`.
  virtual Status make_directory(const std::string& path) = 0;
  /// All entries but "." and "..", in name order.  An error after some entries is an error.
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) = 0;
  /// Whole file; kInvalid (too_large) above `bytes_max`, kNotFound only when it is not there.
  virtual Result<std::string> read(const std::string& path, std::uint64_t bytes_max) = 0;
  virtual Result<SpaceInfo> space(const std::string& path) = 0;
  /// Creates the lock file if needed.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  /// Atomic and durable: after success the file holds exactly `bytes`, after a crash the old or the
  /// new ones (temporary file, fsync, rename, directory sync).
  virtual Task<Status> replace(std::string path, std::string bytes) = 0;
  /// Durable and in place, so it needs no space; not atomic: after a crash or an error each sector
  /// may be an old or a new one.  kNotFound; kInvalid when the file has another length.
  virtual Task<Status> overwrite(std::string path, std::string bytes) = 0;
  /// Creates or keeps `path` as a preallocated file of `bytes` (never read): space put aside.
  virtual Task<Status> reserve(std::string path, std::uint64_t bytes) = 0;
  /// kNotFound when it was not there.  Durable after sync_directory.
  virtual Task<Status> remove(std::string path) = 0;
  virtual Task<Status> sync_directory(std::string path) = 0;
};

}  // namespace cairn::env

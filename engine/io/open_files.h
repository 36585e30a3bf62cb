// The open files of one device: handles that are never reused, their slots in the ring's table, and
// closing that waits for the last operation.  Belongs to UringDevice, on its thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/env/device.h"
#include "engine/env/task.h"
#include "engine/io/direct_file.h"
#include "engine/io/ring.h"

namespace cairn::io {

struct OpenFile {
  env::DeviceFile handle;
  Descriptor descriptor;
  int slot;                  ///< in the ring's table of files, or kNoSlot
  std::uint32_t in_use = 0;  ///< operations queued, in flight, or on the helper thread
  bool closing = false;

  static constexpr int kNoSlot = -1;
};

class OpenFiles {
 public:
  /// Files above `slots` work too, unregistered; so do all when the kernel refuses the table.
  /// `ring` outlives this.
  OpenFiles(Ring& ring, std::uint32_t slots);

  bool registered() const { return registered_; }
  env::DeviceFile add(Descriptor descriptor);
  /// Null when it was closed or never opened.  Valid until its close() and its last release().
  OpenFile* find(env::DeviceFile handle);
  /// For each operation, from its start to its end.
  void acquire(OpenFile& file) { ++file.in_use; }
  void release(OpenFile& file, const Executor& closer);
  /// Now, or with the last release().  The descriptor is closed on `closer`: the last close of an
  /// unlinked segment frees its blocks, which is nothing to wait for on the device's thread.
  void close(env::DeviceFile handle, const Executor& closer);

 private:
  void close_if_unused(OpenFile& file, const Executor& closer);

  Ring& ring_;
  bool registered_ = false;
  std::uint64_t last_handle_ = 0;
  std::unordered_map<std::uint64_t, OpenFile> files_;  // its nodes stay where they are
  std::vector<int> free_slots_;
};

}  // namespace cairn::io

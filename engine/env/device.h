// A storage device as io_uring shows it: operations complete with an int, success means nothing
// about durability until a flush returns, and a result may be short.  Everything above sees only
// this.
//
// Implementations: io::UringDevice, io::FaultDevice (wrapper), sim::SimDevice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/bytes.h"
#include "engine/base/status.h"
#include "engine/env/task.h"

namespace cairn::env {

/// An open file of a device.  Never reused while the device lives, so a late completion or a stale
/// copy of a handle can't reach another file: operations on a closed one return -EBADF.
struct DeviceFile {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const DeviceFile&) const = default;
};

enum class DeviceOpen : std::uint8_t {
  kRead,       ///< existing file, reads only
  kReadWrite,  ///< existing file
  kCreate,     ///< new file, read and write; kExists when the name is taken
};

/// Memory that a device keeps pinned; no operation on it is in flight when this dies.
class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;
  virtual ~RegisteredMemory() = default;
};

/// Thread: all calls and all completions on the executor the device was made with.
class BlockDevice {
 public:
  virtual ~BlockDevice() = default;

  /// Opens `path` for direct I/O.  With kCreate, `allocate_bytes` are preallocated (they read as
  /// zeros) and nothing is durable until the caller syncs the directory and the file.
  /// kNoSpace: nothing was left behind.  kUnavailable (no_descriptors): try again, never "absent".
  virtual Task<Result<DeviceFile>> open(std::string path, DeviceOpen mode,
                                        std::uint64_t allocate_bytes) = 0;
  /// Operations in flight finish first; later ones return -EBADF.
  virtual void close(DeviceFile file) = 0;

  /// Bytes written (may be short) or -errno.  `offset`, address and length are multiples of
  /// kPageBytes; `data` stays valid until completion.  Durable only after a later flush of `file`.
  virtual Task<int> write_at(DeviceFile file, std::uint64_t offset, Bytes data) = 0;
  /// Bytes read (may be short; 0 at end of file) or -errno.  Same alignment.
  virtual Task<int> read_at(DeviceFile file, std::uint64_t offset, MutableBytes into) = 0;
  /// 0 or -errno.  Covers every write of `file` that completed before this call.
  virtual Task<int> flush(DeviceFile file) = 0;
  /// Gives blocks back; the range reads as zeros.  Durable only after a later flush.
  virtual Task<int> punch(DeviceFile file, std::uint64_t offset, std::uint64_t length) = 0;
  /// Cuts the file at `length` (gives a preallocated tail back).
  virtual Task<int> truncate(DeviceFile file, std::uint64_t length) = 0;

  /// Lowest offset >= `from` that may hold data: a hint that lets scans hop over preallocated
  /// space. Returning `from` is always right.  -errno on error; the file's length when nothing
  /// follows.
  virtual std::int64_t next_data(DeviceFile file, std::uint64_t from) = 0;
  virtual Result<std::uint64_t> file_bytes(DeviceFile file) = 0;

  /// Pins memory for faster I/O on spans inside it, until the result dies.  A failure only costs
  /// speed; it is logged once.  The result, which may be null, dies before the memory is unmapped:
  /// the device would go on using the old pages for whatever is mapped there next.
  [[nodiscard]] virtual std::unique_ptr<RegisteredMemory> register_memory(MutableBytes memory) = 0;
};

}  // namespace cairn::env

#include "engine/io/direct_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "engine/base/log.h"
#include "engine/base/units.h"

namespace cairn::io {
namespace {

/// Other users' shards lie in these files: nobody but the server's user reads them.
constexpr mode_t kFileMode = 0600;

int open_flags(env::DeviceOpen mode) {
  switch (mode) {
    case env::DeviceOpen::kRead:
      return O_RDONLY;
    case env::DeviceOpen::kReadWrite:
      return O_RDWR;
    case env::DeviceOpen::kCreate:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

/// O_DIRECT by fcntl, not by open: with O_CREAT a file system that refuses the flag may have made
/// the file already, and the second try would meet it.
void make_direct(const Descriptor& file, const std::string& path) {
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags >= 0 && ::fcntl(file.get(), F_SETFL, flags | O_DIRECT) == 0) return;
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  log_warn("io",
           "direct I/O refused for " + path + " (" + std::strerror(errno) +
               "): going through the page cache, which costs CPU and memory; use ext4 or xfs");
}

/// Takes the blocks now, so that no write inside them meets a full device.
Status allocate(const Descriptor& file, const std::string& path, std::uint64_t bytes) {
  if (bytes == 0) return {};
  int result = 0;
  do {
    result = ::fallocate(file.get(), 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  const std::string what = "allocate " + format_bytes(bytes) + " for " + path;
  if (errno != EOPNOTSUPP) return status_from_errno(errno, what);
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    log_warn("io", what + ": the file system can't put space aside; writes may find it full");
  }
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0) return {};
  return status_from_errno(errno, what);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  Descriptor old(std::exchange(value_, other.release()));
  return *this;
}

Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);  // nothing here relies on close() to report a failed write
}

Result<Descriptor> open_direct(const std::string& path, env::DeviceOpen mode,
                               std::uint64_t allocate_bytes) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), open_flags(mode) | O_CLOEXEC | O_NOCTTY, kFileMode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail(status_from_errno(errno, "open " + path));
  Descriptor file(fd);
  make_direct(file, path);
  if (mode != env::DeviceOpen::kCreate) return file;
  if (Status status = allocate(file, path, allocate_bytes); !status.ok()) {
    ::unlink(path.c_str());
    return fail(std::move(status));
  }
  return file;
}

std::int64_t next_data_of(const Descriptor& file, std::uint64_t from) {
  const off_t at = ::lseek(file.get(), static_cast<off_t>(from), SEEK_DATA);
  if (at >= 0) return at;
  if (errno == EINVAL) return static_cast<std::int64_t>(from);  // the file system can't say
  return errno == ENXIO ? length_of(file) : -errno;
}

std::int64_t length_of(const Descriptor& file) {
  struct stat info{};
  return ::fstat(file.get(), &info) == 0 ? info.st_size : -errno;
}

int cut(const Descriptor& file, std::uint64_t length) {
  int result = 0;
  do {
    result = ::ftruncate(file.get(), static_cast<off_t>(length));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : -errno;
}

}  // namespace cairn::io

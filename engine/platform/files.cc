#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "engine/env/run_on.h"
#include "engine/platform/platform.h"

namespace cairn::platform {
namespace {

/// Other users' shards lie in these files: nobody but the server's user reads them.
constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr std::size_t kReadBytes = 64 * 1024;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  /// close() may be the only place where a file system reports an earlier failure.
  int close_checked() { return ::close(std::exchange(value_, -1)); }

 private:
  int value_;
};

Status last_error(std::string_view verb, const std::string& path) {
  const int error = errno;
  const std::string what = std::string(verb) + " " + path;
  if (error == EISDIR) return {Code::kInvalid, Reason::kIsDirectory, what + ": it is a directory"};
  if (error == ENOTDIR) {
    return {Code::kInvalid, Reason::kNotDirectory,
            what + ": a part of the path is not a directory"};
  }
  return status_from_errno(error, what);
}

Result<Descriptor> open_path(std::string_view verb, const std::string& path, int flags) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, kFileMode);
    if (fd >= 0) return Descriptor(fd);
    if (errno != EINTR) return fail(last_error(verb, path));
  }
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// fsync is never repeated after an error: the kernel has dropped the dirty pages by then.
Status sync_descriptor(const Descriptor& file, std::string_view verb, const std::string& path) {
  if (::fsync(file.get()) == 0) return {};
  return last_error(verb, path);
}

Status sync_directory_now(const std::string& path) {
  TRY(const Descriptor directory, open_path("sync directory", path, O_RDONLY | O_DIRECTORY));
  return sync_descriptor(directory, "sync directory", path);
}

Status write_all(const Descriptor& file, const std::string& bytes, const std::string& path) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return last_error("write", path);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// A file with exactly `bytes`, durable except for its name.
Status write_new_file(const std::string& path, const std::string& bytes) {
  TRY(Descriptor file, open_path("create", path, O_WRONLY | O_CREAT | O_TRUNC));
  TRY_VOID(write_all(file, bytes, path));
  TRY_VOID(sync_descriptor(file, "sync", path));
  if (file.close_checked() != 0) return last_error("close", path);
  return {};
}

Status replace_now(const std::string& path, const std::string& bytes) {
  // One name, so that crashes don't pile up leftovers.  Two writers of one path are excluded by the
  // lock that the owner of the folder holds.
  const std::string temporary = path + std::string(kTemporarySuffix);
  Status status = write_new_file(temporary, bytes);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = last_error("rename to", path);
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());  // best effort: the next replace writes over it
    return status;
  }
  return sync_directory_now(parent_of(path));
}

Status overwrite_now(const std::string& path, const std::string& bytes) {
  TRY(Descriptor file, open_path("overwrite", path, O_WRONLY));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return last_error("stat", path);
  if (!S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) != bytes.size()) {
    return {Code::kInvalid,
            "overwrite " + path + ": it is no file of " + std::to_string(bytes.size()) + " bytes"};
  }
  TRY_VOID(write_all(file, bytes, path));
  // Nothing but the times changed, so the data alone is synced.
  if (::fdatasync(file.get()) != 0) return last_error("sync", path);
  if (file.close_checked() != 0) return last_error("close", path);
  return {};
}

Status allocate(const Descriptor& file, const std::string& path, std::uint64_t bytes) {
  int error = 0;
  do {
    error = bytes == 0 ? 0 : ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error != 0)
    return status_from_errno(error, "allocate " + std::to_string(bytes) + " bytes for " + path);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return last_error("cut", path);
  return sync_descriptor(file, "sync", path);
}

Status reserve_now(const std::string& path, std::uint64_t bytes) {
  const bool existed = ::access(path.c_str(), F_OK) == 0;
  TRY(const Descriptor file, open_path("reserve", path, O_WRONLY | O_CREAT));
  if (Status status = allocate(file, path, bytes); !status.ok()) {
    if (!existed) ::unlink(path.c_str());  // a half reservation would pass for a whole one
    return status;
  }
  return sync_directory_now(parent_of(path));
}

Status remove_now(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return {};
  return last_error("remove", path);
}

/// Nothing when the entry left the directory after it was listed.
Result<std::optional<env::DirectoryEntry>> describe_entry(DIR* directory, const char* name,
                                                          const std::string& path) {
  struct stat info{};
  if (::fstatat(::dirfd(directory), name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<env::DirectoryEntry>();
    return fail(last_error("stat", path + "/" + name));
  }
  return env::DirectoryEntry{name, S_ISDIR(info.st_mode), static_cast<std::uint64_t>(info.st_size)};
}

Result<std::vector<env::DirectoryEntry>> read_entries(DIR* directory, const std::string& path) {
  std::vector<env::DirectoryEntry> entries;
  for (;;) {
    errno = 0;  // the only way to tell the end from an error
    const dirent* entry = ::readdir(directory);
    if (entry == nullptr && errno != 0) return fail(last_error("list", path));
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    TRY(auto described, describe_entry(directory, entry->d_name, path));
    if (described) entries.push_back(*std::move(described));
  }
  std::ranges::sort(entries, {}, &env::DirectoryEntry::name);
  return entries;
}

class HeldLock final : public env::FileLock {
 public:
  explicit HeldLock(Descriptor file) : file_(std::move(file)) {}

 private:
  Descriptor file_;  // the lock goes with the last descriptor of this open
};

class PosixFiles final : public env::Files {
 public:
  Status make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), kDirectoryMode) == 0) return {};
    return last_error("create directory", path);
  }

  Result<std::vector<env::DirectoryEntry>> list(const std::string& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (directory == nullptr) return fail(last_error("list", path));
    auto entries = read_entries(directory, path);
    ::closedir(directory);
    return entries;
  }

  Result<std::string> read(const std::string& path, std::uint64_t bytes_max) override {
    // Not blocking: a FIFO under this name must be refused, not waited for.
    TRY(const Descriptor file, open_path("read", path, O_RDONLY | O_NONBLOCK));
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) return fail(last_error("stat", path));
    if (S_ISDIR(info.st_mode)) {
      return fail(Code::kInvalid, Reason::kIsDirectory, "read " + path + ": it is a directory");
    }
    if (!S_ISREG(info.st_mode)) return fail(Code::kInvalid, "read " + path + ": not a file");
    return read_whole(file, path, bytes_max);
  }

  Result<env::SpaceInfo> space(const std::string& path) override {
    struct statvfs info{};
    if (::statvfs(path.c_str(), &info) != 0) return fail(last_error("measure space of", path));
    // Without the blocks kept for root, even when we are root: those keep the system alive.
    return env::SpaceInfo{info.f_blocks * info.f_frsize, info.f_bavail * info.f_frsize};
  }

  Result<std::unique_ptr<env::FileLock>> lock(const std::string& path) override {
    TRY(Descriptor file, open_path("lock", path, O_RDWR | O_CREAT));
    // flock belongs to this open(), not to the process: a second call here is refused as well.
    int result = 0;
    do {
      result = ::flock(file.get(), LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) {
      return fail(Code::kUnavailable, Reason::kLocked,
                  "lock " + path + ": in use; stop the process that holds it (fuser " + path + ")");
    }
    if (result != 0) return fail(last_error("lock", path));
    return std::make_unique<HeldLock>(std::move(file));
  }

  Task<Status> replace(std::string path, std::string bytes) override {
    auto work = [&] { return replace_now(path, bytes); };
    co_return co_await run_on(helper_.get_executor(), work);
  }
  Task<Status> overwrite(std::string path, std::string bytes) override {
    auto work = [&] { return overwrite_now(path, bytes); };
    co_return co_await run_on(helper_.get_executor(), work);
  }
  Task<Status> reserve(std::string path, std::uint64_t bytes) override {
    auto work = [&] { return reserve_now(path, bytes); };
    co_return co_await run_on(helper_.get_executor(), work);
  }
  Task<Status> remove(std::string path) override {
    auto work = [&] { return remove_now(path); };
    co_return co_await run_on(helper_.get_executor(), work);
  }
  Task<Status> sync_directory(std::string path) override {
    auto work = [&] { return sync_directory_now(path); };
    co_return co_await run_on(helper_.get_executor(), work);
  }

 private:
  static Result<std::string> read_whole(const Descriptor& file, const std::string& path,
                                        std::uint64_t bytes_max) {
    std::string bytes;
    for (;;) {
      const std::size_t had = bytes.size();
      bytes.resize(had + kReadBytes);
      const ssize_t got = ::read(file.get(), bytes.data() + had, kReadBytes);
      if (got < 0 && errno != EINTR) return fail(last_error("read", path));
      bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (bytes.size() > bytes_max) {
        return fail(Code::kInvalid, Reason::kTooLarge,
                    "read " + path + ": more than " + std::to_string(bytes_max) + " bytes");
      }
      if (got == 0) return bytes;
    }
  }

  /// One thread: calls of one target run in the order they were made.  Joined before the context
  /// goes, as the owner of both destroys them in that order.
  boost::asio::thread_pool helper_{1};
};

}  // namespace

std::unique_ptr<env::Files> make_files(boost::asio::io_context&) {
  return std::make_unique<PosixFiles>();
}

}  // namespace cairn::platform

// env::BlockDevice on a simulated disk.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_map>

#include "tests/sim/support/process.h"

namespace cairn::sim {
namespace {

using Kind = FileChange::Kind;

/// What an operation of a dead process takes to fail: time must pass, or a loop would never end.
constexpr env::Duration kDeadDelay = std::chrono::microseconds(1);

FileChange make_change(Kind kind, std::uint64_t offset, std::uint64_t length) {
  FileChange change;
  change.kind = kind;
  change.offset = offset;
  change.length = length;
  return change;
}

class SimDevice final : public env::BlockDevice {
 public:
  SimDevice(SimDisk& disk, std::shared_ptr<Life> life)
      : disk_(disk), life_(std::move(life)), last_handle_(life_->number << 32) {
    life_->on_end = [this] { handles_.clear(); };
  }

  Task<Result<env::DeviceFile>> open(std::string raw_path, env::DeviceOpen mode,
                                     std::uint64_t allocate_bytes) override;
  void close(env::DeviceFile file) override { handles_.erase(file.value); }

  Task<int> write_at(env::DeviceFile file, std::uint64_t offset, Bytes data) override;
  Task<int> read_at(env::DeviceFile file, std::uint64_t offset, MutableBytes into) override;
  Task<int> flush(env::DeviceFile file) override;
  Task<int> punch(env::DeviceFile file, std::uint64_t offset, std::uint64_t length) override;
  Task<int> truncate(env::DeviceFile file, std::uint64_t length) override;

  std::int64_t next_data(env::DeviceFile file, std::uint64_t from) override;
  Result<std::uint64_t> file_bytes(env::DeviceFile file) override;
  std::unique_ptr<env::RegisteredMemory> register_memory(MutableBytes) override { return nullptr; }

 private:
  struct Handle {
    SimDisk::User user;
    bool writable;
  };
  struct Access {
    std::uint64_t offset;
    std::uint64_t length;
    const std::byte* memory;
    bool writes;
  };

  const Handle* find(env::DeviceFile file) const {
    const auto found = handles_.find(file.value);
    return found == handles_.end() ? nullptr : &found->second;
  }
  /// 0, or -errno for a request that no disk would get to see.
  int refuse(const Handle* handle, Access access) const {
    if (!life_->alive) return -EIO;
    if (handle == nullptr || (access.writes && !handle->writable)) return -EBADF;
    const auto address = reinterpret_cast<std::uintptr_t>(access.memory);
    return is_aligned(access.offset | access.length | address, kPageBytes) ? 0 : -EINVAL;
  }
  std::optional<int> start(SimOperation operation, const Inode& inode, Access access) {
    disk_.trace(TraceKind::kDeviceStart, operation, &inode, access.offset, access.length);
    return disk_.faults().decide({operation, inode.created_as, access.offset, access.length});
  }
  int finish(SimOperation operation, const Inode& inode, int result) {
    disk_.trace(TraceKind::kDeviceEnd, operation, &inode, static_cast<std::uint64_t>(result));
    return result;
  }
  Task<void> wait(std::uint64_t bytes) {
    return disk_.scheduler().sleep(disk_.faults().latency(bytes));
  }
  Task<void> wait_dead() { return disk_.scheduler().sleep(kDeadDelay); }

  /// The pages of a write that got through before it failed or its process ended.
  void complete_part(Inode& inode, std::uint64_t offset, Bytes data, SplitMix64& random);
  int complete_write(Inode& inode, std::uint64_t offset, Bytes data, std::optional<int> fault);
  Result<InodeRef> create(const std::string& path, std::uint64_t allocate_bytes);
  InodeRef add_file(const std::string& path, std::uint64_t allocate_bytes);
  Result<InodeRef> find_or_create(const std::string& path, env::DeviceOpen mode,
                                  std::uint64_t allocate_bytes);
  Task<int> run_change(env::DeviceFile file, SimOperation operation, FileChange change);

  SimDisk& disk_;
  std::shared_ptr<Life> life_;
  std::unordered_map<std::uint64_t, Handle> handles_;  // looked up, never iterated
  std::uint64_t last_handle_;
};

// ---- names --------------------------------------------------------------------------------------

InodeRef SimDevice::add_file(const std::string& path, std::uint64_t allocate_bytes) {
  InodeRef inode = disk_.new_inode(path);
  disk_.names().change(path, inode);
  if (allocate_bytes > 0) disk_.complete(*inode, make_change(Kind::kAllocate, 0, allocate_bytes));
  return inode;
}

Result<InodeRef> SimDevice::create(const std::string& path, std::uint64_t allocate_bytes) {
  if (disk_.names().find(path)) return fail(status_from_errno(EEXIST, "create " + path));
  if (!disk_.names().has_directory(parent_path(path))) {
    return fail(status_from_errno(ENOENT, "create " + path));
  }
  if (!disk_.has_room(Inode{}, 0, allocate_bytes)) {
    return fail(status_from_errno(ENOSPC, "create " + path));
  }
  return add_file(path, allocate_bytes);
}

Result<InodeRef> SimDevice::find_or_create(const std::string& path, env::DeviceOpen mode,
                                           std::uint64_t allocate_bytes) {
  if (handles_.size() >= disk_.options().descriptors_max) {
    return fail(status_from_errno(EMFILE, "open " + path));
  }
  if (mode == env::DeviceOpen::kCreate) return create(path, allocate_bytes);
  InodeRef inode = disk_.names().find(path);
  if (inode == nullptr) return fail(status_from_errno(ENOENT, "open " + path));
  if (inode->is_directory) {
    return fail(Code::kInvalid, Reason::kIsDirectory, "open " + path + ": it is a directory");
  }
  return inode;
}

Task<Result<env::DeviceFile>> SimDevice::open(std::string raw_path, env::DeviceOpen mode,
                                              std::uint64_t allocate_bytes) {
  const std::string path = normal_path(raw_path);
  if (!life_->alive) {
    co_await wait_dead();
    co_return fail(Code::kIo, "open " + path + ": the process is dead");
  }
  disk_.trace(TraceKind::kDeviceStart, SimOperation::kOpen, nullptr, allocate_bytes);
  const auto fault = disk_.faults().decide({SimOperation::kOpen, path, 0, allocate_bytes});
  auto may_happen = [this, path, mode, allocate_bytes](SplitMix64&) {
    const bool creates = mode == env::DeviceOpen::kCreate;
    if (creates && disk_.names().find(path) == nullptr &&
        disk_.names().has_directory(parent_path(path))) {
      add_file(path, allocate_bytes);
    }
  };
  const SimDisk::Flight flight(disk_, *life_, std::move(may_happen));
  co_await wait(0);
  if (!life_->alive) co_return fail(Code::kIo, "open " + path + ": the process is dead");
  if (fault && *fault < 0) co_return fail(status_from_errno(-*fault, "open " + path));
  CO_TRY(InodeRef inode, find_or_create(path, mode, allocate_bytes));
  const env::DeviceFile handle{++last_handle_};
  disk_.trace(TraceKind::kDeviceEnd, SimOperation::kOpen, inode.get(), handle.value);
  handles_.emplace(handle.value,
                   Handle{SimDisk::User(disk_, inode), mode != env::DeviceOpen::kRead});
  co_return handle;
}

// ---- transfers ----------------------------------------------------------------------------------

void SimDevice::complete_part(Inode& inode, std::uint64_t offset, Bytes data, SplitMix64& random) {
  const std::uint64_t pages = data.size() / kPageBytes;
  const std::uint64_t first = random.one_in(2) ? 0 : random.below(pages + 1);
  const std::uint64_t end = random.one_in(2) ? pages : random.between(first, pages);
  if (first == end || !disk_.has_room(inode, offset, data.size())) return;
  disk_.complete(inode, make_write(offset + first * kPageBytes,
                                   data.subspan(first * kPageBytes, (end - first) * kPageBytes)));
}

int SimDevice::complete_write(Inode& inode, std::uint64_t offset, Bytes data,
                              std::optional<int> fault) {
  if (fault && *fault < 0) {
    if (*fault != -ENOSPC) complete_part(inode, offset, data, disk_.faults().random());
    return *fault;
  }
  if (!disk_.has_room(inode, offset, data.size())) return -ENOSPC;
  const std::uint64_t taken = std::min<std::uint64_t>(
      static_cast<std::uint64_t>(fault.value_or(static_cast<int>(data.size()))), data.size());
  // Of a page that was cut the caller must not assume anything: here it is untouched.
  const Bytes whole_pages = data.first(round_down(taken, kPageBytes));
  disk_.scheduler().trace().fold_bytes(whole_pages);
  if (!whole_pages.empty()) disk_.complete(inode, make_write(offset, whole_pages));
  return static_cast<int>(taken);
}

Task<int> SimDevice::write_at(env::DeviceFile file, std::uint64_t offset, Bytes data) {
  const Handle* handle = find(file);
  const Access access{offset, data.size(), data.data(), true};
  if (const int refused = refuse(handle, access); refused != 0) {
    co_await wait_dead();
    co_return refused;
  }
  const SimDisk::User user = handle->user;
  const auto fault = start(SimOperation::kWrite, *user, access);
  // The caller keeps `data` until the completion, so the medium may take it at any time until then.
  auto may_happen = [this, inode = user.inode(), offset, data](SplitMix64& random) {
    complete_part(*inode, offset, data, random);
  };
  const SimDisk::Flight flight(disk_, *life_, std::move(may_happen));
  co_await wait(data.size());
  if (!life_->alive) co_return -EIO;
  co_return finish(SimOperation::kWrite, *user, complete_write(*user, offset, data, fault));
}

Task<int> SimDevice::read_at(env::DeviceFile file, std::uint64_t offset, MutableBytes into) {
  const Handle* handle = find(file);
  const Access access{offset, into.size(), into.data(), false};
  if (const int refused = refuse(handle, access); refused != 0) {
    co_await wait_dead();
    co_return refused;
  }
  const SimDisk::User user = handle->user;
  const auto fault = start(SimOperation::kRead, *user, access);
  co_await wait(into.size());
  if (!life_->alive) co_return -EIO;
  if (fault && *fault < 0) co_return finish(SimOperation::kRead, *user, *fault);
  const std::uint64_t wanted = std::min<std::uint64_t>(
      static_cast<std::uint64_t>(fault.value_or(static_cast<int>(into.size()))), into.size());
  const std::uint64_t got = disk_.read(*user, offset, into.first(wanted));
  co_return finish(SimOperation::kRead, *user, static_cast<int>(got));
}

Task<int> SimDevice::flush(env::DeviceFile file) {
  const Handle* handle = find(file);
  const Access access{0, 0, nullptr, false};
  if (const int refused = refuse(handle, access); refused != 0) {
    co_await wait_dead();
    co_return refused;
  }
  const SimDisk::User user = handle->user;
  const auto fault = start(SimOperation::kFlush, *user, access);
  const std::uint64_t covers = user->last_change;  // not what completes while it runs
  co_await wait(0);
  if (!life_->alive) co_return -EIO;
  if (fault && *fault < 0) {
    disk_.fail_flush(*user, covers);
    co_return finish(SimOperation::kFlush, *user, *fault);
  }
  disk_.make_durable(*user, covers);
  co_return finish(SimOperation::kFlush, *user, 0);
}

// ---- space --------------------------------------------------------------------------------------

Task<int> SimDevice::run_change(env::DeviceFile file, SimOperation operation, FileChange change) {
  const Handle* handle = find(file);
  const Access access{change.offset, change.length, nullptr, true};
  if (const int refused = refuse(handle, access); refused != 0) {
    co_await wait_dead();
    co_return refused;
  }
  const SimDisk::User user = handle->user;
  const auto fault = start(operation, *user, access);
  auto may_happen = [this, inode = user.inode(), change](SplitMix64&) {
    disk_.complete(*inode, change);
  };
  const SimDisk::Flight flight(disk_, *life_, std::move(may_happen));
  co_await wait(0);
  if (!life_->alive) co_return -EIO;
  const int result = fault ? std::min(*fault, 0) : 0;
  // An error says nothing about whether it happened.
  if (result == 0 || disk_.faults().random().one_in(2)) disk_.complete(*user, std::move(change));
  co_return finish(operation, *user, result);
}

Task<int> SimDevice::punch(env::DeviceFile file, std::uint64_t offset, std::uint64_t length) {
  FileChange change = make_change(Kind::kPunch, offset, length);
  return run_change(file, SimOperation::kPunch, std::move(change));
}

Task<int> SimDevice::truncate(env::DeviceFile file, std::uint64_t length) {
  FileChange change = make_change(Kind::kTruncate, length, 0);
  return run_change(file, SimOperation::kTruncate, std::move(change));
}

std::int64_t SimDevice::next_data(env::DeviceFile file, std::uint64_t from) {
  const Handle* handle = find(file);
  if (!life_->alive) return -EIO;
  if (handle == nullptr) return -EBADF;
  const FileImage& image = handle->user->current;
  if (from >= image.bytes) return static_cast<std::int64_t>(image.bytes);
  // Not every file system knows its holes; giving `from` back is always right.
  if (disk_.faults().random().one_in(16)) return static_cast<std::int64_t>(from);
  const std::uint64_t page = image.pages.next(from / kPageBytes);
  if (page == PageMap::kNone || page * kPageBytes >= image.bytes) {
    return static_cast<std::int64_t>(image.bytes);
  }
  return static_cast<std::int64_t>(std::max(from, page * kPageBytes));
}

Result<std::uint64_t> SimDevice::file_bytes(env::DeviceFile file) {
  const Handle* handle = find(file);
  if (!life_->alive) return fail(Code::kIo, "file length: the process is dead");
  if (handle == nullptr) return fail(status_from_errno(EBADF, "file length"));
  return handle->user->current.bytes;
}

}  // namespace

std::unique_ptr<env::BlockDevice> make_sim_device(SimDisk& disk, std::shared_ptr<Life> life) {
  return std::make_unique<SimDevice>(disk, std::move(life));
}

}  // namespace cairn::sim

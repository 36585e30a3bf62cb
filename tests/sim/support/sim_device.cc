// env::BlockDevice on a simulated disk.
#include <cerrno>
#include <unordered_map>

#include <algorithm>
#include <optional>

#include "tests/sim/support/process.h"

namespace cairn::sim {
namespace {

/// Counts one more user of an inode while it lives.
class OpenCount {
 public:
  explicit OpenCount(const InodeRef& inode) : count_(inode->opens) { ++*count_; }
  OpenCount(const OpenCount& other) : count_(other.count_) { ++*count_; }
  OpenCount& operator=(const OpenCount&) = delete;
  ~OpenCount() { --*count_; }

 private:
  std::shared_ptr<int> count_;
};

struct Handle {
  InodeRef inode;
  OpenCount count;
  bool writable;
};

void apply_overlays(const Inode& inode, std::uint64_t offset, MutableBytes bytes,
                    SimDiskStats& stats) {
  for (const Overlay& overlay : inode.overlays) {
    const std::uint64_t first = std::max(offset, overlay.offset);
    const std::uint64_t end = std::min(offset + bytes.size(), overlay.offset + overlay.length);
    if (first >= end) continue;
    const MutableBytes hit = bytes.subspan(first - offset, end - first);
    switch (overlay.kind) {
      case Overlay::Kind::kFlip:
        hit[0] ^= static_cast<std::byte>(1u << overlay.bit);
        ++stats.flipped_reads;
        break;
      case Overlay::Kind::kZeros: std::ranges::fill(hit, std::byte{0}); break;
      case Overlay::Kind::kFrom:
        read_image(inode.current, overlay.from + (first - overlay.offset), hit);
        ++stats.misplaced_reads;
        break;
    }
  }
}

class SimDevice final : public env::BlockDevice {
 public:
  SimDevice(SimDisk& disk, std::shared_ptr<Life> life) : disk_(disk), life_(std::move(life)) {}

  Task<Result<env::DeviceFile>> open(std::string raw_path, env::DeviceOpen mode,
                                     std::uint64_t allocate_bytes) override {
    const std::string path = normal_path(raw_path);
    const auto decided = start(SimOperation::kOpen, path, 0, allocate_bytes);
    co_await wait(0);
    if (life_->dead) co_return fail(Code::kIo, path + ": the process is dead");
    if (decided && *decided < 0) co_return fail(status_from_errno(-*decided, path));
    if (handles_.size() >= disk_.options().descriptors_max) {
      co_return fail(status_from_errno(EMFILE, path));
    }
    InodeRef inode = disk_.names().find(path);
    if (mode == env::DeviceOpen::kCreate) {
      if (inode) co_return fail(status_from_errno(EEXIST, path));
      if (!disk_.names().has_directory(parent_path(path))) {
        co_return fail(status_from_errno(ENOENT, path));
      }
      if (round_up(allocate_bytes, kPageBytes) > disk_.free_bytes()) {
        ++disk_.stats().no_space;
        co_return fail(status_from_errno(ENOSPC, path));
      }
      inode = std::make_shared<Inode>();
      inode->id = disk_.new_inode_id();
      inode->created_as = path;
      disk_.keep(inode);
      FileChange allocate;
      allocate.kind = FileChange::Kind::kAllocate;
      allocate.length = allocate_bytes;
      disk_.change(*inode, std::move(allocate));
      disk_.names().change(path, inode);
    } else if (!inode) {
      co_return fail(status_from_errno(ENOENT, path));
    }
    const env::DeviceFile handle{++last_handle_};
    handles_.emplace(handle.value,
                     Handle{inode, OpenCount(inode), mode != env::DeviceOpen::kRead});
    co_return handle;
  }

  // Running operations hold the inode themselves.
  void close(env::DeviceFile file) override { handles_.erase(file.value); }

  Task<int> write_at(env::DeviceFile file, std::uint64_t offset, Bytes data) override {
    const Handle* handle = find(file);
    if (handle == nullptr || !handle->writable) co_return -EBADF;
    if (!is_aligned(offset | data.size(), kPageBytes)) co_return -EINVAL;
    const InodeRef inode = handle->inode;
    const OpenCount count = handle->count;
    const auto decided = start(SimOperation::kWrite, inode->created_as, offset, data.size());
    if (decided && *decided < 0) {
      co_await wait(0);
      co_return life_->dead ? -EIO : *decided;
    }
    const auto taken = static_cast<std::uint64_t>(decided.value_or(static_cast<int>(data.size())));
    const Bytes whole_pages = data.first(round_down(taken, kPageBytes));
    const auto operation =
        disk_.begin({inode, FileChange::Kind::kWrite, offset, whole_pages, 0});
    co_await wait(data.size());
    disk_.end(operation);
    if (life_->dead) co_return -EIO;
    // Read only now: the caller promised the bytes until completion.
    if (!whole_pages.empty()) disk_.change(*inode, make_write(offset, whole_pages));
    disk_.scheduler().trace().fold_bytes(whole_pages);
    co_return static_cast<int>(taken);
  }

  Task<int> read_at(env::DeviceFile file, std::uint64_t offset, MutableBytes into) override {
    const Handle* handle = find(file);
    if (handle == nullptr) co_return -EBADF;
    if (!is_aligned(offset | into.size(), kPageBytes)) co_return -EINVAL;
    const InodeRef inode = handle->inode;
    const OpenCount count = handle->count;
    const auto decided = start(SimOperation::kRead, inode->created_as, offset, into.size());
    co_await wait(into.size());
    if (life_->dead) co_return -EIO;
    if (decided && *decided < 0) co_return *decided;
    const auto wanted = static_cast<std::uint64_t>(decided.value_or(static_cast<int>(into.size())));
    const std::uint64_t got = read_image(inode->current, offset, into.first(wanted));
    apply_overlays(*inode, offset, into.first(got), disk_.stats());
    if (got > 0 && chance(disk_.options().read_flip_one_in)) {
      into[random().below(got)] ^= static_cast<std::byte>(1u << random().below(8));
      ++disk_.stats().flipped_reads;
    }
    co_return static_cast<int>(got);
  }

  Task<int> flush(env::DeviceFile file) override {
    const Handle* handle = find(file);
    if (handle == nullptr) co_return -EBADF;
    const InodeRef inode = handle->inode;
    const OpenCount count = handle->count;
    const auto decided = start(SimOperation::kFlush, inode->created_as, 0, 0);
    const std::uint64_t covers = inode->last_change;
    co_await wait(0);
    if (life_->dead) co_return -EIO;
    if (decided && *decided < 0) {
      disk_.drop_by_failed_flush(*inode, covers);
      co_return *decided;
    }
    disk_.flush(*inode, covers);
    co_return 0;
  }

  Task<int> punch(env::DeviceFile file, std::uint64_t offset, std::uint64_t length) override {
    const Handle* handle = find(file);
    if (handle == nullptr) co_return -EBADF;
    if (!is_aligned(offset | length, kPageBytes)) co_return -EINVAL;
    const InodeRef inode = handle->inode;
    const OpenCount count = handle->count;
    const auto decided = start(SimOperation::kPunch, inode->created_as, offset, length);
    if (decided && *decided < 0) {
      co_await wait(0);
      co_return life_->dead ? -EIO : *decided;
    }
    const auto operation = disk_.begin({inode, FileChange::Kind::kPunch, offset, {}, length});
    co_await wait(0);
    disk_.end(operation);
    if (life_->dead) co_return -EIO;
    FileChange change;
    change.kind = FileChange::Kind::kPunch;
    change.offset = offset;
    change.length = length;
    disk_.change(*inode, std::move(change));
    co_return 0;
  }

  Task<int> truncate(env::DeviceFile file, std::uint64_t length) override {
    const Handle* handle = find(file);
    if (handle == nullptr) co_return -EBADF;
    const InodeRef inode = handle->inode;
    const OpenCount count = handle->count;
    const auto decided = start(SimOperation::kTruncate, inode->created_as, length, 0);
    co_await wait(0);
    if (life_->dead) co_return -EIO;
    if (decided && *decided < 0) co_return *decided;
    FileChange change;
    change.kind = FileChange::Kind::kTruncate;
    change.offset = length;
    disk_.change(*inode, std::move(change));
    co_return 0;
  }

  std::int64_t next_data(env::DeviceFile file, std::uint64_t from) override {
    const Handle* handle = find(file);
    if (handle == nullptr || life_->dead) return -EBADF;
    const FileImage& image = handle->inode->current;
    if (from >= image.bytes) return static_cast<std::int64_t>(image.bytes);
    const std::uint64_t page = image.pages.next(from / kPageBytes);
    if (page == PageMap::kNone) return static_cast<std::int64_t>(image.bytes);
    return static_cast<std::int64_t>(std::max(from, page * kPageBytes));
  }

  Result<std::uint64_t> file_bytes(env::DeviceFile file) override {
    const Handle* handle = find(file);
    if (handle == nullptr || life_->dead) return fail(status_from_errno(EBADF, "file length"));
    return handle->inode->current.bytes;
  }

  void register_memory(MutableBytes) override {}

 private:
  const Handle* find(env::DeviceFile file) const {
    const auto found = handles_.find(file.value);
    return found == handles_.end() ? nullptr : &found->second;
  }

  std::optional<int> start(SimOperation operation, const std::string& path, std::uint64_t offset,
                           std::uint64_t length) {
    if (life_->dead) return std::nullopt;
    disk_.scheduler().trace(TraceKind::kDeviceStart, static_cast<std::uint64_t>(operation), offset,
                            length);
    return disk_.faults().decide({operation, path, offset, length});
  }
  Task<void> wait(std::uint64_t bytes) {
    return disk_.scheduler().sleep(disk_.faults().latency(bytes));
  }
  SplitMix64& random() { return disk_.faults().random(); }
  bool chance(std::uint32_t one_in) { return one_in != 0 && random().one_in(one_in); }

  SimDisk& disk_;
  std::shared_ptr<Life> life_;
  std::unordered_map<std::uint64_t, Handle> handles_;  // looked up, never iterated
  std::uint64_t last_handle_ = 0;
};

}  // namespace

std::unique_ptr<env::BlockDevice> make_sim_device(SimDisk& disk, std::shared_ptr<Life> life) {
  return std::make_unique<SimDevice>(disk, std::move(life));
}

}  // namespace cairn::sim

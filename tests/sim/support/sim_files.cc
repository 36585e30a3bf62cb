// env::Files on a simulated disk.
#include <cerrno>

#include "tests/sim/support/process.h"

namespace cairn::sim {
namespace {

class SimLock final : public env::FileLock {
 public:
  SimLock(InodeRef inode, std::uint64_t life) : inode_(std::move(inode)), life_(life) {}
  ~SimLock() override {
    if (inode_->locked_by == life_) inode_->locked_by = 0;
  }

 private:
  InodeRef inode_;
  std::uint64_t life_;
};

class SimFiles final : public env::Files {
 public:
  SimFiles(SimDisk& disk, std::shared_ptr<Life> life) : disk_(disk), life_(std::move(life)) {}

  Status make_directory(const std::string& raw_path) override {
    const std::string path = normal_path(raw_path);
    TRY_VOID(check(SimOperation::kMakeDirectory, path));
    if (disk_.names().find(path)) return status_from_errno(EEXIST, path);
    if (!disk_.names().has_directory(parent_path(path))) return status_from_errno(ENOENT, path);
    InodeRef inode = new_inode(path);
    inode->is_directory = true;
    disk_.names().change(path, std::move(inode));
    return {};
  }

  Result<std::vector<env::DirectoryEntry>> list(const std::string& raw_path) override {
    const std::string path = normal_path(raw_path);
    TRY_VOID(check(SimOperation::kList, path));
    if (!disk_.names().has_directory(path)) return fail(status_from_errno(ENOENT, path));
    std::vector<env::DirectoryEntry> entries;
    for (const auto& [name, inode] : disk_.names().children(path)) {
      entries.push_back({name, inode->is_directory || inode->store, inode->current.bytes});
    }
    return entries;
  }

  Result<std::string> read(const std::string& raw_path, std::uint64_t bytes_max) override {
    const std::string path = normal_path(raw_path);
    TRY_VOID(check(SimOperation::kFileRead, path));
    const InodeRef inode = disk_.names().find(path);
    if (!inode) return fail(status_from_errno(ENOENT, path));
    if (inode->current.bytes > bytes_max) {
      return fail(Code::kInvalid, Reason::kTooLarge, path + " is too large");
    }
    std::string out(inode->current.bytes, '\0');
    read_image(inode->current, 0, std::as_writable_bytes(std::span(out)));
    for (const Overlay& overlay : inode->overlays) {
      if (overlay.kind != Overlay::Kind::kFlip || overlay.offset >= out.size()) continue;
      out[overlay.offset] = static_cast<char>(out[overlay.offset] ^ (1 << overlay.bit));
      ++disk_.stats().flipped_reads;
    }
    return out;
  }

  Result<env::SpaceInfo> space(const std::string&) override {
    if (life_->dead) return fail(dead("space"));
    return env::SpaceInfo{disk_.options().capacity_bytes, disk_.free_bytes()};
  }

  Result<std::unique_ptr<env::FileLock>> lock(const std::string& raw_path) override {
    const std::string path = normal_path(raw_path);
    if (life_->dead) return fail(dead(path));
    InodeRef inode = disk_.names().find(path);
    if (!inode) {
      if (!disk_.names().has_directory(parent_path(path))) {
        return fail(status_from_errno(ENOENT, path));
      }
      inode = new_inode(path);
      disk_.names().change_durably(path, inode);
    }
    if (inode->locked_by != 0) {
      return fail(Code::kUnavailable, Reason::kLocked, path + " is locked by another process");
    }
    inode->locked_by = life_->id;
    return std::make_unique<SimLock>(inode, life_->id);
  }

  Task<Status> replace(std::string raw_path, std::string bytes) override {
    const std::string path = normal_path(raw_path);
    CO_TRY_VOID(check(SimOperation::kReplace, path));
    co_await disk_.scheduler().sleep(disk_.faults().latency(bytes.size()));
    if (life_->dead) co_return dead(path);
    InodeRef inode = new_inode(path);
    std::string padded = bytes;
    padded.resize(round_up(padded.size(), kPageBytes));
    apply(inode->current, make_write(0, as_bytes(padded)));
    inode->current.bytes = bytes.size();
    inode->durable = inode->current;
    disk_.names().change_durably(path, std::move(inode));
    co_return Status();
  }

  Task<Status> reserve(std::string raw_path, std::uint64_t bytes) override {
    const std::string path = normal_path(raw_path);
    CO_TRY_VOID(check(SimOperation::kReserve, path));
    co_await disk_.scheduler().sleep(disk_.faults().latency(0));
    if (life_->dead) co_return dead(path);
    InodeRef inode = disk_.names().find(path);
    if (inode && inode->current.bytes >= bytes) co_return Status();
    if (bytes > disk_.free_bytes()) {
      ++disk_.stats().no_space;
      co_return status_from_errno(ENOSPC, path);
    }
    inode = new_inode(path);
    FileChange allocate;
    allocate.kind = FileChange::Kind::kAllocate;
    allocate.length = bytes;
    apply(inode->current, allocate);
    inode->durable = inode->current;
    disk_.names().change_durably(path, std::move(inode));
    co_return Status();
  }

  Task<Status> remove(std::string raw_path) override {
    const std::string path = normal_path(raw_path);
    CO_TRY_VOID(check(SimOperation::kRemove, path));
    co_await disk_.scheduler().sleep(disk_.faults().latency(0));
    if (life_->dead) co_return dead(path);
    if (!disk_.names().find(path)) co_return status_from_errno(ENOENT, path);
    disk_.names().change(path, nullptr);
    co_return Status();
  }

  Task<Status> sync_directory(std::string raw_path) override {
    const std::string path = normal_path(raw_path);
    CO_TRY_VOID(check(SimOperation::kSyncDirectory, path));
    const std::uint64_t covers = disk_.names().last_change();
    co_await disk_.scheduler().sleep(disk_.faults().latency(0));
    if (life_->dead) co_return dead(path);
    disk_.names().sync(path, covers);
    co_return Status();
  }

 private:
  static Status dead(const std::string& path) {
    return {Code::kIo, path + ": the process is dead"};
  }
  Status check(SimOperation operation, const std::string& path) {
    if (life_->dead) return dead(path);
    disk_.scheduler().trace(TraceKind::kFile, static_cast<std::uint64_t>(operation));
    const auto decided = disk_.faults().decide({operation, path, 0, 0});
    if (decided && *decided < 0) return status_from_errno(-*decided, path);
    return {};
  }
  InodeRef new_inode(const std::string& path) {
    auto inode = std::make_shared<Inode>();
    inode->id = disk_.new_inode_id();
    inode->created_as = path;
    disk_.keep(inode);
    return inode;
  }

  SimDisk& disk_;
  std::shared_ptr<Life> life_;
};

}  // namespace

std::unique_ptr<env::Files> make_sim_files(SimDisk& disk, std::shared_ptr<Life> life) {
  return std::make_unique<SimFiles>(disk, std::move(life));
}

}  // namespace cairn::sim

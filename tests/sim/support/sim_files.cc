// env::Files on a simulated disk.  Names are durable after sync_directory, but for replace() and
// reserve(), which promise more.
#include <algorithm>
#include <cerrno>

#include "tests/sim/support/process.h"

namespace cairn::sim {
namespace {

/// What an unfinished replace() may leave behind, as on a real disk (platform::kTemporarySuffix).
constexpr std::string_view kTemporarySuffix = ".tmp";

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

  Status make_directory(const std::string& path) override;
  Result<std::vector<env::DirectoryEntry>> list(const std::string& path) override;
  Result<std::string> read(const std::string& path, std::uint64_t bytes_max) override;
  Result<env::SpaceInfo> space(const std::string& path) override;
  Result<std::unique_ptr<env::FileLock>> lock(const std::string& path) override;

  Task<Status> replace(std::string path, std::string bytes) override;
  Task<Status> overwrite(std::string path, std::string bytes) override;
  Task<Status> reserve(std::string path, std::uint64_t bytes) override;
  Task<Status> remove(std::string path) override;
  Task<Status> sync_directory(std::string path) override;

 private:
  static Status dead(const std::string& path) {
    return {Code::kIo, path + ": the process is dead"};
  }
  Status start(SimOperation operation, const std::string& path, std::uint64_t bytes);
  Task<void> wait(std::uint64_t bytes) {
    return disk_.scheduler().sleep(disk_.faults().latency(bytes));
  }
  /// OK when something can be created at `path`.
  Status can_create(const std::string& path) const;
  Status reserve_now(const std::string& path, std::uint64_t bytes);
  void replace_now(const std::string& path, const std::string& bytes);
  /// The state that a failed or cut replace() leaves: old or new, perhaps with a temporary file.
  void replace_partly(const std::string& path, const std::string& bytes, SplitMix64& random);
  void remove_if_there(const std::string& path) {
    if (disk_.names().find(path) != nullptr) disk_.remove_name(path);
  }

  SimDisk& disk_;
  std::shared_ptr<Life> life_;
};

Status SimFiles::start(SimOperation operation, const std::string& path, std::uint64_t bytes) {
  if (!life_->alive) return dead(path);
  disk_.trace(TraceKind::kFile, operation, disk_.names().find(path).get(), bytes);
  const auto fault = disk_.faults().decide({operation, path, 0, bytes});
  if (!fault || *fault >= 0) return {};
  return status_from_errno(-*fault, std::string(to_string(operation)) + " " + path);
}

Status SimFiles::can_create(const std::string& path) const {
  if (disk_.names().has_directory(parent_path(path))) return {};
  return status_from_errno(ENOENT, "create " + path);
}

// ---- at once ------------------------------------------------------------------------------------

Status SimFiles::make_directory(const std::string& raw_path) {
  const std::string path = normal_path(raw_path);
  TRY_VOID(start(SimOperation::kMakeDirectory, path, 0));
  if (disk_.names().find(path)) return status_from_errno(EEXIST, "create directory " + path);
  TRY_VOID(can_create(path));
  InodeRef inode = disk_.new_inode(path);
  inode->is_directory = true;
  disk_.names().change(path, std::move(inode));
  return {};
}

Result<std::vector<env::DirectoryEntry>> SimFiles::list(const std::string& raw_path) {
  const std::string path = normal_path(raw_path);
  TRY_VOID(start(SimOperation::kList, path, 0));  // a listing that breaks off is a failed one
  const InodeRef directory = disk_.names().find(path);
  if (directory == nullptr) return fail(status_from_errno(ENOENT, "list " + path));
  if (!directory->is_directory) {
    return fail(Code::kInvalid, Reason::kNotDirectory, "list " + path + ": it is a file");
  }
  std::vector<env::DirectoryEntry> entries;
  for (const auto& [name, inode] : disk_.names().children(path)) {
    entries.push_back({name, inode->is_directory, inode->current.bytes});
  }
  return entries;
}

Result<std::string> SimFiles::read(const std::string& raw_path, std::uint64_t bytes_max) {
  const std::string path = normal_path(raw_path);
  TRY_VOID(start(SimOperation::kFileRead, path, 0));
  const InodeRef inode = disk_.names().find(path);
  if (inode == nullptr) return fail(status_from_errno(ENOENT, "read " + path));
  if (inode->is_directory) {
    return fail(Code::kInvalid, Reason::kIsDirectory, "read " + path + ": it is a directory");
  }
  if (inode->current.bytes > bytes_max) {
    return fail(Code::kInvalid, Reason::kTooLarge,
                "read " + path + ": more than " + std::to_string(bytes_max) + " bytes");
  }
  std::string out(inode->current.bytes, '\0');
  out.resize(disk_.read(*inode, 0, std::as_writable_bytes(std::span(out))));
  return out;
}

Result<env::SpaceInfo> SimFiles::space(const std::string& raw_path) {
  const std::string path = normal_path(raw_path);
  if (!life_->alive) return fail(dead(path));
  if (!disk_.names().find(path)) return fail(status_from_errno(ENOENT, "space of " + path));
  return env::SpaceInfo{disk_.options().capacity_bytes, disk_.free_bytes()};
}

Result<std::unique_ptr<env::FileLock>> SimFiles::lock(const std::string& raw_path) {
  const std::string path = normal_path(raw_path);
  if (!life_->alive) return fail(dead(path));
  InodeRef inode = disk_.names().find(path);
  if (inode == nullptr) {
    TRY_VOID(can_create(path));
    inode = disk_.new_inode(path);
    disk_.names().change(path, inode);
  }
  if (inode->locked_by != 0) {
    return fail(Code::kUnavailable, Reason::kLocked,
                "lock " + path + ": in use; stop the process that holds it");
  }
  inode->locked_by = life_->number;
  return std::make_unique<SimLock>(inode, life_->number);
}

// ---- with the disk ------------------------------------------------------------------------------

void SimFiles::replace_now(const std::string& path, const std::string& bytes) {
  if (const InodeRef old = disk_.names().find(path)) {
    const SimDisk::User last(disk_, old);
    InodeRef inode = disk_.new_inode(path);
    disk_.set_content(*inode, bytes);
    disk_.names().change_durably(path, std::move(inode));
    return;
  }
  InodeRef inode = disk_.new_inode(path);
  disk_.set_content(*inode, bytes);
  disk_.names().change_durably(path, std::move(inode));
}

void SimFiles::replace_partly(const std::string& path, const std::string& bytes,
                              SplitMix64& random) {
  if (!disk_.names().has_directory(parent_path(path))) return;
  if (!disk_.has_room(Inode{}, 0, bytes.size())) return;
  if (random.one_in(2)) return replace_now(path, bytes);
  const std::string cut = bytes.substr(0, random.below(bytes.size() + 1));
  if (random.one_in(2)) replace_now(path + std::string(kTemporarySuffix), cut);
}

Task<Status> SimFiles::replace(std::string raw_path, std::string bytes) {
  const std::string path = normal_path(raw_path);
  Status fault = start(SimOperation::kReplace, path, bytes.size());
  if (!life_->alive) co_return fault;
  auto may_happen = [this, path, bytes](SplitMix64& random) {
    replace_partly(path, bytes, random);
  };
  const SimDisk::Flight flight(disk_, *life_, std::move(may_happen));
  co_await wait(bytes.size());
  if (!life_->alive) {
    fault.ignore();  // the process is over: that is the error now
    co_return dead(path);
  }
  if (!fault.ok()) {
    if (fault.code() == Code::kIo) replace_partly(path, bytes, disk_.faults().random());
    co_return fault;
  }
  CO_TRY_VOID(can_create(path));
  if (!disk_.has_room(Inode{}, 0, bytes.size())) {
    co_return status_from_errno(ENOSPC, "replace " + path);
  }
  disk_.scheduler().trace().fold_text(bytes);
  replace_now(path, bytes);
  remove_if_there(path + std::string(kTemporarySuffix));
  co_return Status();
}

Task<Status> SimFiles::overwrite(std::string raw_path, std::string bytes) {
  const std::string path = normal_path(raw_path);
  Status fault = start(SimOperation::kOverwrite, path, bytes.size());
  if (!life_->alive) co_return fault;
  const InodeRef inode = disk_.names().find(path);
  if (inode == nullptr || inode->is_directory || inode->current.bytes != bytes.size()) {
    fault.ignore();  // there is nothing that could fail
    if (inode == nullptr) co_return status_from_errno(ENOENT, "overwrite " + path);
    co_return Status(Code::kInvalid, "overwrite " + path + ": it is no file of " +
                                         std::to_string(bytes.size()) + " bytes");
  }
  const SimDisk::User user(disk_, inode);
  std::string padded = bytes;
  padded.resize(round_up(bytes.size(), kPageBytes));
  FileChange write = make_write(0, as_bytes(padded));
  write.length = bytes.size();
  auto may_happen = [this, inode, write](SplitMix64&) { disk_.complete(*inode, write); };
  const SimDisk::Flight flight(disk_, *life_, may_happen);
  co_await wait(bytes.size());
  if (!life_->alive) {
    fault.ignore();  // the process is over: that is the error now
    co_return dead(path);
  }
  disk_.scheduler().trace().fold_text(bytes);
  if (!fault.ok()) {
    if (disk_.faults().random().one_in(2)) disk_.complete(*inode, std::move(write));
    disk_.fail_flush(*inode, inode->last_change);
    co_return fault;
  }
  disk_.complete(*inode, std::move(write));
  disk_.make_durable(*inode, inode->last_change);
  co_return Status();
}

Status SimFiles::reserve_now(const std::string& path, std::uint64_t bytes) {
  TRY_VOID(can_create(path));
  InodeRef inode = disk_.names().find(path);
  const Inode nothing;
  if (!disk_.has_room(inode == nullptr ? nothing : *inode, 0, bytes)) {
    return status_from_errno(ENOSPC, "reserve " + path);
  }
  if (inode == nullptr) {
    inode = disk_.new_inode(path);
    disk_.names().change_durably(path, inode);
  }
  FileChange allocate;
  allocate.kind = FileChange::Kind::kAllocate;
  allocate.length = bytes;
  disk_.complete(*inode, std::move(allocate));
  FileChange cut;
  cut.kind = FileChange::Kind::kTruncate;
  cut.offset = bytes;
  disk_.complete(*inode, std::move(cut));
  disk_.make_durable(*inode, inode->last_change);
  return {};
}

Task<Status> SimFiles::reserve(std::string raw_path, std::uint64_t bytes) {
  const std::string path = normal_path(raw_path);
  CO_TRY_VOID(start(SimOperation::kReserve, path, bytes));
  auto may_happen = [this, path, bytes](SplitMix64&) { reserve_now(path, bytes).ignore(); };
  const SimDisk::Flight flight(disk_, *life_, std::move(may_happen));
  co_await wait(0);
  if (!life_->alive) co_return dead(path);
  co_return reserve_now(path, bytes);
}

Task<Status> SimFiles::remove(std::string raw_path) {
  const std::string path = normal_path(raw_path);
  CO_TRY_VOID(start(SimOperation::kRemove, path, 0));
  auto may_happen = [this, path](SplitMix64&) { remove_if_there(path); };
  const SimDisk::Flight flight(disk_, *life_, std::move(may_happen));
  co_await wait(0);
  if (!life_->alive) co_return dead(path);
  const InodeRef inode = disk_.names().find(path);
  if (inode == nullptr) co_return status_from_errno(ENOENT, "remove " + path);
  if (inode->is_directory) {
    co_return Status(Code::kInvalid, Reason::kIsDirectory, "remove " + path + ": a directory");
  }
  disk_.remove_name(path);
  co_return Status();
}

Task<Status> SimFiles::sync_directory(std::string raw_path) {
  const std::string path = normal_path(raw_path);
  CO_TRY_VOID(start(SimOperation::kSyncDirectory, path, 0));
  const std::uint64_t covers = disk_.names().last_change();
  co_await wait(0);
  if (!life_->alive) co_return dead(path);
  if (!disk_.names().has_directory(path)) co_return status_from_errno(ENOENT, "sync " + path);
  disk_.names().sync(path, covers);
  co_return Status();
}

}  // namespace

std::unique_ptr<env::Files> make_sim_files(SimDisk& disk, std::shared_ptr<Life> life) {
  return std::make_unique<SimFiles>(disk, std::move(life));
}

}  // namespace cairn::sim

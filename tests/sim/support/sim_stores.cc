// env::KeyValueStores on a simulated disk.
#include <cerrno>

#include "tests/sim/support/process.h"

namespace cairn::sim {
namespace {

class SimScan final : public env::KeyValueScan {
 public:
  explicit SimScan(std::vector<env::KeyValueRow> rows) : rows_(std::move(rows)) {}
  Result<std::optional<env::KeyValueRow>> next() override {
    if (at_ == rows_.size()) return std::nullopt;
    return rows_[at_++];
  }

 private:
  std::vector<env::KeyValueRow> rows_;
  std::size_t at_ = 0;
};

class FailedScan final : public env::KeyValueScan {
 public:
  Result<std::optional<env::KeyValueRow>> next() override {
    return fail(Code::kIo, "scan: the store can't be read");
  }
};

class SimKeyValue final : public env::KeyValue {
 public:
  SimKeyValue(SimDisk& disk, std::shared_ptr<Life> life, std::string path,
              std::shared_ptr<SimStore> store, bool read_only)
      : disk_(disk),
        life_(std::move(life)),
        path_(std::move(path)),
        store_(std::move(store)),
        read_only_(read_only) {}

  Result<std::optional<std::string>> get(env::ColumnFamily family, std::string_view key) override {
    TRY_VOID(check(SimOperation::kStoreRead));
    const auto& rows = store_->current().at(family);
    const auto found = rows.find(std::string(key));
    if (found == rows.end()) return std::nullopt;
    return found->second;
  }

  std::unique_ptr<env::KeyValueScan> scan(env::ColumnFamily family, std::string_view first,
                                          std::string_view end) override {
    if (Status readable = check(SimOperation::kStoreRead); !readable.ok()) {
      return std::make_unique<FailedScan>();
    }
    const auto& rows = store_->current().at(family);
    std::vector<env::KeyValueRow> seen;
    for (auto row = rows.lower_bound(std::string(first));
         row != rows.end() && (end.empty() || row->first < end); ++row) {
      seen.push_back({row->first, row->second});
    }
    return std::make_unique<SimScan>(std::move(seen));
  }

  Status write(const env::WriteBatch& batch) override {
    if (read_only_) return {Code::kInvalid, Reason::kReadOnly, path_ + " is open read-only"};
    TRY_VOID(check(SimOperation::kStoreWrite));
    if (disk_.free_bytes() < disk_.options().store_write_needs_bytes) {
      ++disk_.stats().no_space;
      return status_from_errno(ENOSPC, path_);
    }
    store_->write(batch);
    return {};
  }

  Task<Status> sync() override {
    if (read_only_) co_return Status(Code::kInvalid, Reason::kReadOnly, path_ + " is read-only");
    CO_TRY_VOID(check(SimOperation::kStoreSync));
    const std::uint64_t covers = store_->last_batch();
    co_await disk_.scheduler().sleep(disk_.faults().latency(0));
    if (life_->dead) co_return dead();
    store_->sync(covers);
    co_return Status();
  }

 private:
  Status dead() const { return {Code::kIo, path_ + ": the process is dead"}; }
  Status check(SimOperation operation) {
    if (life_->dead) return dead();
    disk_.scheduler().trace(TraceKind::kStore, static_cast<std::uint64_t>(operation));
    const auto decided = disk_.faults().decide({operation, path_, 0, 0});
    if (decided && *decided < 0) return status_from_errno(-*decided, path_);
    return {};
  }

  SimDisk& disk_;
  std::shared_ptr<Life> life_;
  std::string path_;
  std::shared_ptr<SimStore> store_;
  bool read_only_;
};

class SimStores final : public env::KeyValueStores {
 public:
  SimStores(SimDisk& disk, std::shared_ptr<Life> life) : disk_(disk), life_(std::move(life)) {}

  Result<std::unique_ptr<env::KeyValue>> open(const std::string& raw_path,
                                              const std::vector<std::string>& families,
                                              env::KeyValueOpen mode) override {
    const std::string path = normal_path(raw_path);
    if (life_->dead) return fail(Code::kIo, path + ": the process is dead");
    const auto decided = disk_.faults().decide({SimOperation::kStoreOpen, path, 0, 0});
    if (decided && *decided < 0) return fail(status_from_errno(-*decided, path));
    InodeRef inode = disk_.names().find(path);
    if (mode == env::KeyValueOpen::kCreate) {
      if (inode) return fail(Code::kExists, path + " holds a store already");
      inode = std::make_shared<Inode>();
      inode->id = disk_.new_inode_id();
      inode->created_as = path;
      inode->store = std::make_shared<SimStore>(families.size());
      disk_.keep(inode);
      disk_.names().change_durably(path, inode);
    }
    if (!inode || !inode->store) return fail(Code::kNotFound, path + " holds no store");
    inode->store->grow(families.size());
    return std::make_unique<SimKeyValue>(disk_, life_, path, inode->store,
                                         mode == env::KeyValueOpen::kReadOnly);
  }

  Status destroy(const std::string& raw_path) override {
    const std::string path = normal_path(raw_path);
    if (life_->dead) return {Code::kIo, path + ": the process is dead"};
    if (disk_.names().find(path)) disk_.names().change_durably(path, nullptr);
    return {};
  }

 private:
  SimDisk& disk_;
  std::shared_ptr<Life> life_;
};

}  // namespace

std::unique_ptr<env::KeyValueStores> make_sim_stores(SimDisk& disk, std::shared_ptr<Life> life) {
  return std::make_unique<SimStores>(disk, std::move(life));
}

}  // namespace cairn::sim

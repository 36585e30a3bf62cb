// env::KeyValueStores on a simulated disk.
#include <cerrno>

#include "tests/sim/support/process.h"

namespace cairn::sim {
namespace {

class SimScan final : public env::KeyValueScan {
 public:
  SimScan(std::shared_ptr<const StoreRows> rows, std::string_view first, std::string_view end)
      : rows_(std::move(rows)), at_(rows_->lower_bound(std::string(first))), end_(end) {}

  Result<std::optional<env::KeyValueRow>> next() override {
    if (at_ == rows_->end() || (!end_.empty() && at_->first >= end_)) return std::nullopt;
    env::KeyValueRow row{at_->first, at_->second};
    ++at_;
    return row;
  }

 private:
  std::shared_ptr<const StoreRows> rows_;  // the map of this moment: a writer makes its own copy
  StoreRows::const_iterator at_;
  std::string end_;
};

class FailedScan final : public env::KeyValueScan {
 public:
  explicit FailedScan(Status why) : why_(std::move(why)) {}
  Result<std::optional<env::KeyValueRow>> next() override { return fail(Status(why_)); }

 private:
  Status why_;
};

class SimKeyValue final : public env::KeyValue {
 public:
  SimKeyValue(SimDisk& disk, std::shared_ptr<Life> life, std::string path,
              std::shared_ptr<SimStore> store, const std::vector<std::string>& families,
              bool read_only);
  ~SimKeyValue() override {
    if (!read_only_ && life_->alive) store_->close();
  }

  Result<std::optional<std::string>> get(env::ColumnFamily family, std::string_view key) override;
  std::unique_ptr<env::KeyValueScan> scan(env::ColumnFamily family, std::string_view first,
                                          std::string_view end) override;
  Status write(const env::WriteBatch& batch) override;
  Task<Status> sync() override;

 private:
  Status dead() const { return {Code::kIo, path_ + ": the process is dead"}; }
  Status start(SimOperation operation, std::uint64_t what);
  Status can_write() const;
  /// The batch with the store's numbers of the families.
  env::WriteBatch translate(const env::WriteBatch& batch);

  SimDisk& disk_;
  std::shared_ptr<Life> life_;
  std::string path_;
  std::shared_ptr<SimStore> store_;
  std::vector<env::ColumnFamily> families_;  // our number -> the store's
  bool read_only_;
};

SimKeyValue::SimKeyValue(SimDisk& disk, std::shared_ptr<Life> life, std::string path,
                         std::shared_ptr<SimStore> store, const std::vector<std::string>& families,
                         bool read_only)
    : disk_(disk),
      life_(std::move(life)),
      path_(std::move(path)),
      store_(std::move(store)),
      read_only_(read_only) {
  for (const std::string& name : families) families_.push_back(store_->family(name));
}

Status SimKeyValue::start(SimOperation operation, std::uint64_t what) {
  if (!life_->alive) return dead();
  disk_.trace(TraceKind::kStore, operation, nullptr, what);
  const auto fault = disk_.faults().decide({operation, path_, 0, what});
  if (!fault || *fault >= 0) return {};
  return status_from_errno(-*fault, std::string(to_string(operation)) + " " + path_);
}

Status SimKeyValue::can_write() const {
  if (read_only_) return {Code::kInvalid, Reason::kReadOnly, path_ + " is open read-only"};
  if (!life_->alive) return dead();
  if (store_->failed()) return {Code::kIo, path_ + " failed before; open it again"};
  return {};
}

Result<std::optional<std::string>> SimKeyValue::get(env::ColumnFamily family,
                                                    std::string_view key) {
  TRY_VOID(start(SimOperation::kStoreRead, key.size()));
  const StoreRows& rows = store_->rows(families_.at(family));
  const auto found = rows.find(std::string(key));
  if (found == rows.end()) return std::nullopt;
  return found->second;
}

std::unique_ptr<env::KeyValueScan> SimKeyValue::scan(env::ColumnFamily family,
                                                     std::string_view first, std::string_view end) {
  Status readable = start(SimOperation::kStoreRead, first.size());
  if (!readable.ok()) return std::make_unique<FailedScan>(std::move(readable));
  return std::make_unique<SimScan>(store_->snapshot(families_.at(family)), first, end);
}

env::WriteBatch SimKeyValue::translate(const env::WriteBatch& batch) {
  env::WriteBatch out;
  for (const env::WriteBatch::Operation& operation : batch.operations()) {
    const env::ColumnFamily family = families_.at(operation.family);
    disk_.scheduler().trace().fold(family);
    disk_.scheduler().trace().fold_text(operation.key);
    disk_.scheduler().trace().fold_text(operation.value);
    switch (operation.kind) {
      case env::WriteBatch::Kind::kPut:
        out.put(family, operation.key, operation.value);
        break;
      case env::WriteBatch::Kind::kErase:
        out.erase(family, operation.key);
        break;
      case env::WriteBatch::Kind::kEraseRange:
        out.erase_range(family, operation.key, operation.value);
        break;
    }
  }
  return out;
}

Status SimKeyValue::write(const env::WriteBatch& batch) {
  TRY_VOID(can_write());
  const env::WriteBatch translated = translate(batch);
  Status fault = start(SimOperation::kStoreWrite, batch.operations().size());
  if (!fault.ok()) {
    const bool in_log = fault.code() == Code::kIo && disk_.faults().random().one_in(2);
    if (fault.code() == Code::kIo) store_->fail_write(translated, in_log);
    return fault;
  }
  if (!life_->alive) return dead();  // a fault plan may end the process
  if (disk_.free_bytes() < disk_.options().store_write_needs_bytes) {
    ++disk_.stats().no_space;
    return status_from_errno(ENOSPC, "write to " + path_);
  }
  store_->write(translated);
  return {};
}

Task<Status> SimKeyValue::sync() {
  CO_TRY_VOID(can_write());
  Status fault = start(SimOperation::kStoreSync, store_->unsynced_batches());
  const std::uint64_t covers = store_->last_batch();
  co_await disk_.scheduler().sleep(disk_.faults().latency(0));
  if (!life_->alive) {
    fault.ignore();  // the process is over: that is the error now
    co_return dead();
  }
  if (!fault.ok()) {
    store_->fail_sync();
    co_return fault;
  }
  CO_TRY_VOID(can_write());  // another sync or write may have failed meanwhile
  store_->sync(covers);
  co_return Status();
}

class SimStores final : public env::KeyValueStores {
 public:
  SimStores(SimDisk& disk, std::shared_ptr<Life> life) : disk_(disk), life_(std::move(life)) {}

  Result<std::unique_ptr<env::KeyValue>> open(const std::string& path,
                                              const std::vector<std::string>& families,
                                              env::KeyValueOpen mode) override;
  Status destroy(const std::string& path) override;

 private:
  Result<std::shared_ptr<SimStore>> find(const std::string& path, env::KeyValueOpen mode);
  Result<std::shared_ptr<SimStore>> create(const std::string& path);

  SimDisk& disk_;
  std::shared_ptr<Life> life_;
};

Result<std::shared_ptr<SimStore>> SimStores::create(const std::string& path) {
  InodeRef inode = disk_.names().find(path);
  if (inode == nullptr) {
    if (!disk_.names().has_directory(parent_path(path))) {
      return fail(status_from_errno(ENOENT, "create store " + path));
    }
    inode = disk_.new_inode(path);
    inode->is_directory = true;
    disk_.names().change(path, inode);  // RocksDB syncs its own directory, not the one above
  }
  inode->store = std::make_shared<SimStore>();
  return inode->store;
}

Result<std::shared_ptr<SimStore>> SimStores::find(const std::string& path, env::KeyValueOpen mode) {
  std::shared_ptr<SimStore> store = disk_.store(path);
  if (mode == env::KeyValueOpen::kCreate) {
    if (store != nullptr) return fail(Code::kExists, path + " holds a store already");
    return create(path);
  }
  if (store == nullptr) return fail(Code::kNotFound, path + " holds no store");
  if (store->corrupt()) {
    return fail(Code::kCorrupt, path + " is damaged; run `cairn target rebuild-index`");
  }
  return store;
}

Result<std::unique_ptr<env::KeyValue>> SimStores::open(const std::string& raw_path,
                                                       const std::vector<std::string>& families,
                                                       env::KeyValueOpen mode) {
  const std::string path = normal_path(raw_path);
  if (!life_->alive) return fail(Code::kIo, path + ": the process is dead");
  disk_.trace(TraceKind::kStore, SimOperation::kStoreOpen, nullptr, families.size());
  const auto fault = disk_.faults().decide({SimOperation::kStoreOpen, path, 0, 0});
  if (fault && *fault < 0) return fail(status_from_errno(-*fault, "open store " + path));
  TRY(std::shared_ptr<SimStore> store, find(path, mode));
  const bool read_only = mode == env::KeyValueOpen::kReadOnly;
  if (!read_only && store->opened_by() != 0) {
    return fail(Code::kUnavailable, Reason::kLocked, path + " is open in another process");
  }
  if (!read_only) store->open(life_->number, families);
  if (read_only && store->opened_by() == 0) store->open(0, families);
  return std::make_unique<SimKeyValue>(disk_, life_, path, std::move(store), families, read_only);
}

Status SimStores::destroy(const std::string& raw_path) {
  const std::string path = normal_path(raw_path);
  if (!life_->alive) return {Code::kIo, path + ": the process is dead"};
  const InodeRef inode = disk_.names().find(path);
  if (inode == nullptr) return {};
  if (inode->store != nullptr && inode->store->opened_by() != 0) {
    return {Code::kUnavailable, Reason::kLocked, path + " is open"};
  }
  disk_.remove_name(path);
  return {};
}

}  // namespace

std::unique_ptr<env::KeyValueStores> make_sim_stores(SimDisk& disk, std::shared_ptr<Life> life) {
  return std::make_unique<SimStores>(disk, std::move(life));
}

}  // namespace cairn::sim

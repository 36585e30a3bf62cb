#include "engine/platform/kv/rocksdb_stores.h"

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <boost/asio/thread_pool.hpp>
#include <filesystem>

#include "engine/base/units.h"
#include "engine/env/run_on.h"
#include "engine/platform/kv/options.h"

namespace cairn::platform {
namespace {

Status to_status(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return {};
  std::string message = std::string(what) + ": " + status.ToString();
  if (status.IsNoSpace()) return {Code::kNoSpace, std::move(message)};
  if (status.IsCorruption()) {
    return {Code::kCorrupt, std::move(message) +
                                "; if this is a target's index, stop the target and run `cairn "
                                "target rebuild-index`"};
  }
  if (status.IsBusy() || status.IsTryAgain()) return {Code::kUnavailable, std::move(message)};
  return {Code::kIo, std::move(message)};
}

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

class RocksScan final : public env::KeyValueScan {
 public:
  RocksScan(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string_view first,
            std::string_view end)
      : end_(end) {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    if (!end_.empty()) {
      end_slice_ = slice(end_);
      options.iterate_upper_bound = &end_slice_;
    }
    iterator_.reset(db.NewIterator(options, family));
    iterator_->Seek(slice(first));
  }

  Result<std::optional<env::KeyValueRow>> next() override {
    if (!iterator_->Valid()) {
      TRY_VOID(to_status(iterator_->status(), "scan"));
      return std::nullopt;
    }
    env::KeyValueRow row{iterator_->key().ToString(), iterator_->value().ToString()};
    iterator_->Next();
    return row;
  }

 private:
  std::string end_;
  rocksdb::Slice end_slice_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

class RocksStore final : public env::KeyValue {
 public:
  RocksStore(std::unique_ptr<rocksdb::DB> db, std::vector<rocksdb::ColumnFamilyHandle*> families,
             bool read_only)
      : db_(std::move(db)), families_(std::move(families)), read_only_(read_only), syncer_(1) {}

  ~RocksStore() override {
    syncer_.join();
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    }
    db_->Close().PermitUncheckedError();  // what had to last was synced
  }

  Result<std::optional<std::string>> get(env::ColumnFamily family, std::string_view key) override {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    std::string value;
    const rocksdb::Status status = db_->Get(options, families_.at(family), slice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    TRY_VOID(to_status(status, "get"));
    return value;
  }

  std::unique_ptr<env::KeyValueScan> scan(env::ColumnFamily family, std::string_view first,
                                          std::string_view end) override {
    return std::make_unique<RocksScan>(*db_, families_.at(family), first, end);
  }

  Status write(const env::WriteBatch& batch) override {
    if (read_only_) return {Code::kInvalid, Reason::kReadOnly, "the store is open read-only"};
    rocksdb::WriteBatch out;
    for (const env::WriteBatch::Operation& operation : batch.operations()) {
      rocksdb::ColumnFamilyHandle* family = families_.at(operation.family);
      rocksdb::Status added;
      switch (operation.kind) {
        case env::WriteBatch::Kind::kPut:
          added = out.Put(family, operation.key, operation.value);
          break;
        case env::WriteBatch::Kind::kErase: added = out.Delete(family, operation.key); break;
        case env::WriteBatch::Kind::kEraseRange:
          added = out.DeleteRange(family, operation.key, operation.value);
          break;
      }
      TRY_VOID(to_status(added, "write"));
    }
    return to_status(db_->Write(rocksdb::WriteOptions(), &out), "write");
  }

  Task<Status> sync() override {
    if (read_only_) co_return Status(Code::kInvalid, Reason::kReadOnly, "open read-only");
    // One thread: calls that wait find their bytes synced already and return at once.
    auto work = [this] { return to_status(db_->SyncWAL(), "sync"); };
    co_return co_await run_on(syncer_.get_executor(), std::move(work));
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  bool read_only_;
  boost::asio::thread_pool syncer_;
};

class RocksStores final : public env::KeyValueStores {
 public:
  Result<std::unique_ptr<env::KeyValue>> open(const std::string& path,
                                              const std::vector<std::string>& families,
                                              env::KeyValueOpen mode) override {
    std::error_code error;
    const bool present = std::filesystem::exists(path + "/CURRENT", error);
    if (error) return fail(status_from_errno(error.value(), path));
    if (present && mode == env::KeyValueOpen::kCreate) {
      return fail(Code::kExists, path + " holds a store already");
    }
    if (!present && mode != env::KeyValueOpen::kCreate) {
      return fail(Code::kNotFound, path + " holds no store");
    }
    // RocksDB insists on a family "default"; ours come behind it.
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {
        {rocksdb::kDefaultColumnFamilyName, family_options()}};
    for (const std::string& name : families) descriptors.emplace_back(name, family_options());
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    const bool read_only = mode == env::KeyValueOpen::kReadOnly;
    const rocksdb::Status opened =
        read_only ? rocksdb::DB::OpenForReadOnly(database_options(), path, descriptors, &handles,
                                                 &db)
                  : rocksdb::DB::Open(database_options(), path, descriptors, &handles, &db);
    TRY_VOID(to_status(opened, "open " + path));
    std::unique_ptr<rocksdb::DB> owner(db);
    const rocksdb::Status dropped = db->DestroyColumnFamilyHandle(handles.front());
    TRY_VOID(to_status(dropped, "open " + path));
    handles.erase(handles.begin());
    return std::make_unique<RocksStore>(std::move(owner), std::move(handles), read_only);
  }

  Status destroy(const std::string& path) override {
    // The folder is the store's alone; DestroyDB would leave files of a damaged one behind.
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) return status_from_errno(error.value(), "remove " + path);
    return {};
  }
};

}  // namespace

rocksdb::DBOptions database_options() {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  // A torn tail is what a power cut leaves.  It also hides a flipped bit there, so that who keeps
  // a store compares its own commit number with a mark kept outside it.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.recycle_log_file_num = 0;  // a recycled log's old records could pass for its tail
  options.manual_wal_flush = false;
  options.paranoid_checks = true;
  options.avoid_flush_during_recovery = false;
  options.max_total_wal_size = 16 * kMiB;
  options.max_open_files = 256;
  options.keep_log_file_num = 2;
  options.max_log_file_size = 1 * kMiB;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.stats_dump_period_sec = 0;
  options.max_background_jobs = 2;
  return options;
}

rocksdb::ColumnFamilyOptions family_options() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 4 * kMiB;
  options.max_write_buffer_number = 3;
  options.compression = rocksdb::kNoCompression;  // records are short and mostly numbers
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.verify_compression = false;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

std::unique_ptr<env::KeyValueStores> make_rocksdb_stores() {
  return std::make_unique<RocksStores>();
}

}  // namespace cairn::platform

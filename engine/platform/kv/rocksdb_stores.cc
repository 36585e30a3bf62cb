#include "engine/platform/kv/rocksdb_stores.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>

#include "engine/env/run_on.h"
#include "engine/env/sync.h"
#include "engine/platform/kv/options.h"

namespace cairn::platform {
namespace {

bool says(const rocksdb::Status& status, const char* text) {
  return status.ToString().find(text) != std::string::npos;
}

/// RocksDB keeps the errno of some failures in their text only; strerror's words are stable.
Status to_status(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return {};
  std::string message = std::string(what) + ": " + status.ToString();
  if (status.IsNoSpace()) return {Code::kNoSpace, std::move(message)};
  // A file that the store itself names and that is gone is damage, not absence.
  if (status.IsCorruption() || status.IsPathNotFound()) {
    return {Code::kCorrupt, std::move(message) +
                                "; if this is a target's index, stop the target and run `cairn "
                                "target rebuild-index`"};
  }
  if (status.IsInvalidArgument() || status.IsNotSupported()) {
    return {Code::kInvalid, std::move(message)};
  }
  if (status.IsIOError() &&
      (says(status, "lock hold by current process") || says(status, "While lock file"))) {
    return {Code::kUnavailable, Reason::kLocked,
            std::move(message) + "; stop the process that has it open"};
  }
  if (status.IsIOError() && says(status, "Too many open files")) {
    return {Code::kUnavailable, Reason::kNoDescriptors,
            std::move(message) + "; raise the limit of open files (ulimit -n)"};
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
    error_.ignore();  // told to every caller after it
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
    TRY_VOID(writable());
    rocksdb::WriteBatch out;
    for (const env::WriteBatch::Operation& operation : batch.operations()) {
      rocksdb::ColumnFamilyHandle* family = families_.at(operation.family);
      rocksdb::Status added;
      switch (operation.kind) {
        case env::WriteBatch::Kind::kPut:
          added = out.Put(family, operation.key, operation.value);
          break;
        case env::WriteBatch::Kind::kErase:
          added = out.Delete(family, operation.key);
          break;
        case env::WriteBatch::Kind::kEraseRange:
          added = out.DeleteRange(family, operation.key, operation.value);
          break;
      }
      TRY_VOID(to_status(added, "write"));
    }
    return kept(to_status(db_->Write(rocksdb::WriteOptions(), &out), "write"));
  }

  Task<Status> sync() override;

 private:
  Status writable() const {
    if (read_only_) return {Code::kInvalid, Reason::kReadOnly, "the store is open read-only"};
    return error_;
  }
  /// After a failed write or sync nobody knows what the log holds, and a later sync that succeeds
  /// would prove nothing (packaged builds even abort the process over it): only another open finds
  /// out.  That goes for a full disk too; who must write then puts space aside.
  Status kept(Status status) {
    if (!status.ok() && error_.ok()) error_ = status;
    error_.ignore();
    return status;
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  bool read_only_;
  Status error_;
  // One sync runs at a time and serves all who asked before it began.
  std::uint64_t requested_ = 0;
  std::uint64_t synced_ = 0;
  bool syncing_ = false;
  std::unique_ptr<Event> sync_ended_;
  boost::asio::thread_pool syncer_;
};

Task<Status> RocksStore::sync() {
  CO_TRY_VOID(writable());
  Executor executor = co_await boost::asio::this_coro::executor;
  if (!sync_ended_) sync_ended_ = std::make_unique<Event>(std::move(executor));
  const std::uint64_t ticket = ++requested_;
  while (synced_ < ticket) {
    CO_TRY_VOID(writable());
    if (syncing_) {
      co_await sync_ended_->wait();
      continue;
    }
    syncing_ = true;
    const std::uint64_t covers = requested_;
    auto work = [this] { return to_status(db_->SyncWAL(), "sync"); };
    Status done = co_await run_on(syncer_.get_executor(), std::move(work));
    syncing_ = false;
    if (done.ok()) synced_ = covers;
    done = kept(std::move(done));
    sync_ended_->pulse();
    if (!done.ok()) co_return done;
  }
  co_return Status();
}

class RocksStores final : public env::KeyValueStores {
 public:
  Result<std::unique_ptr<env::KeyValue>> open(const std::string& path,
                                              const std::vector<std::string>& families,
                                              env::KeyValueOpen mode) override;
  Status destroy(const std::string& path) override;
};

Result<bool> holds_store(const std::string& path) {
  std::error_code error;
  const bool present = std::filesystem::exists(path + "/CURRENT", error);
  if (error) return fail(status_from_errno(error.value(), "look for a store in " + path));
  return present;
}

/// Ours in their order, then those that another version left: RocksDB wants all of them opened.
Result<std::vector<rocksdb::ColumnFamilyDescriptor>> describe_families(
    const std::string& path, const std::vector<std::string>& families, bool present) {
  std::vector<std::string> names = families;
  if (present) {
    std::vector<std::string> found;
    const rocksdb::Status listed =
        rocksdb::DB::ListColumnFamilies(database_options(), path, &found);
    TRY_VOID(to_status(listed, "open " + path));
    names.insert(names.end(), found.begin(), found.end());
  } else {
    names.push_back(rocksdb::kDefaultColumnFamilyName);  // RocksDB insists on it
  }
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) {
    const auto same = [&](const auto& other) { return other.name == name; };
    if (std::ranges::any_of(descriptors, same)) continue;
    descriptors.emplace_back(name, family_options());
  }
  return descriptors;
}

Result<std::unique_ptr<env::KeyValue>> RocksStores::open(const std::string& path,
                                                         const std::vector<std::string>& families,
                                                         env::KeyValueOpen mode) {
  TRY(const bool present, holds_store(path));
  const bool creates = mode == env::KeyValueOpen::kCreate;
  if (present && creates) return fail(Code::kExists, path + " holds a store already");
  if (!present && !creates) return fail(Code::kNotFound, path + " holds no store");
  TRY(const auto descriptors, describe_families(path, families, present));

  rocksdb::DBOptions options = database_options();
  options.create_if_missing = creates;
  options.error_if_exists = creates;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const bool read_only = mode == env::KeyValueOpen::kReadOnly;
  const rocksdb::Status opened =
      read_only ? rocksdb::DB::OpenForReadOnly(options, path, descriptors, &handles, &db)
                : rocksdb::DB::Open(options, path, descriptors, &handles, &db);
  TRY_VOID(to_status(opened, "open " + path));
  return std::make_unique<RocksStore>(std::unique_ptr<rocksdb::DB>(db), std::move(handles),
                                      read_only);
}

Status RocksStores::destroy(const std::string& path) {
  TRY(const bool present, holds_store(path));
  if (present) {
    Status destroyed = to_status(rocksdb::DestroyDB(path, rocksdb::Options()), "remove " + path);
    if (destroyed.reason() == Reason::kLocked) return destroyed;
    destroyed.ignore();  // a damaged one; what is left goes below
  }
  // The folder is the store's alone; DestroyDB leaves files of a damaged store behind.
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return status_from_errno(error.value(), "remove " + path);
  return {};
}

}  // namespace

std::unique_ptr<env::KeyValueStores> make_rocksdb_stores() {
  return std::make_unique<RocksStores>();
}

}  // namespace cairn::platform

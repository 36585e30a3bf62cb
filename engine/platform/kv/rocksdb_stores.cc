#include "engine/platform/kv/rocksdb_stores.h"

#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>

#include "engine/base/log.h"
#include "engine/base/units.h"
#include "engine/env/run_on.h"
#include "engine/env/sync.h"
#include "engine/platform/kv/database.h"
#include "engine/platform/kv/options.h"

namespace cairn::platform {
namespace {

/// To open a store anew after a full disk its log becomes tables, and new logs are preallocated.
constexpr std::uint64_t kReopenBytes = 2 * kLogBytesMax;

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

rocksdb::ReadOptions checked_reads() {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  return options;
}

class RocksScan final : public env::KeyValueScan {
 public:
  RocksScan(std::shared_ptr<Database> database, env::ColumnFamily family, std::string_view first,
            std::string_view end)
      : database_(std::move(database)), end_(end) {
    rocksdb::ReadOptions options = checked_reads();
    if (!end_.empty()) {
      end_slice_ = slice(end_);
      options.iterate_upper_bound = &end_slice_;
    }
    iterator_.reset(database_->db().NewIterator(options, database_->family(family)));
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
  std::shared_ptr<Database> database_;  // before the iterator, which must go first
  std::string end_;
  rocksdb::Slice end_slice_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

class FailedScan final : public env::KeyValueScan {
 public:
  explicit FailedScan(Status why) : why_(std::move(why)) {}
  ~FailedScan() override { why_.ignore(); }
  Result<std::optional<env::KeyValueRow>> next() override { return fail(Status(why_)); }

 private:
  Status why_;
};

class RocksStore final : public env::KeyValue {
 public:
  RocksStore(std::string path, std::vector<std::string> families,
             std::shared_ptr<Database> database, bool read_only, LogDamage damage)
      : path_(std::move(path)),
        families_(std::move(families)),
        database_(std::move(database)),
        read_only_(read_only),
        damage_(damage) {}
  ~RocksStore() override {
    syncer_.join();
    error_.ignore();  // told to every caller after it
  }

  Result<std::optional<std::string>> get(env::ColumnFamily family, std::string_view key) override;
  std::unique_ptr<env::KeyValueScan> scan(env::ColumnFamily family, std::string_view first,
                                          std::string_view end) override;
  Status write(const env::WriteBatch& batch) override;
  Task<Status> sync() override;

 private:
  Status readable() const;
  Status writable();
  Status kept(Status status);
  Status reopen_after_full_disk();
  Result<rocksdb::WriteBatch> translate(const env::WriteBatch& batch);

  std::string path_;
  std::vector<std::string> families_;
  std::shared_ptr<Database> database_;
  bool read_only_;
  LogDamage damage_;
  Status error_;       // sticks: see kept()
  bool full_ = false;  // the disk was, at the last write or sync
  // One sync runs at a time and serves all who asked before it began.
  std::uint64_t requested_ = 0;
  std::uint64_t synced_ = 0;
  bool syncing_ = false;
  std::unique_ptr<Event> sync_ended_;
  boost::asio::thread_pool syncer_{1};
};

// ---- errors -------------------------------------------------------------------------------------

/// After a failed write or sync nobody knows what the log holds, and a later sync that succeeds
/// would prove nothing: only another open finds out.  Want of space is survived, also by opening
/// anew, because RocksDB (as packaged) aborts the process when it syncs a log that met a full disk.
Status RocksStore::kept(Status status) {
  if (status.code() == Code::kNoSpace) {
    full_ = true;
  } else if (!status.ok() && error_.ok()) {
    error_ = status;
  }
  error_.ignore();
  return status;
}

Status RocksStore::writable() {
  if (read_only_) return {Code::kInvalid, Reason::kReadOnly, path_ + " is open read-only"};
  if (error_.ok() && full_) TRY_VOID(reopen_after_full_disk());
  return error_;
}

Status RocksStore::reopen_after_full_disk() {
  const auto still_full = [this](const std::string& why) {
    return Status(Code::kNoSpace, path_ + ": the disk was full; " + why);
  };
  std::error_code error;
  const auto space = std::filesystem::space(path_, error);
  if (error) return status_from_errno(error.value(), "measure space of " + path_);
  if (space.available < kReopenBytes) {
    return still_full("writes go on when " + format_bytes(kReopenBytes) + " are free, now " +
                      format_bytes(space.available) + " are");
  }
  if (syncing_ || database_.use_count() > 1) return still_full("writes go on after the last scan");
  log_info("store", path_ + ": the disk has room again; opening the store anew");
  database_.reset();
  auto opened = Database::open(path_, families_, env::KeyValueOpen::kExisting, damage_);
  if (!opened) {
    Status why = std::move(opened).error().with_context("after a full disk");
    return why.code() == Code::kUnavailable ? why : kept(std::move(why));
  }
  database_ = *std::move(opened);
  full_ = false;
  return {};
}

/// Not so only after opening anew failed; the next write tries again.
Status RocksStore::readable() const {
  if (database_ != nullptr) return {};
  if (!error_.ok()) return error_;
  return {Code::kUnavailable, path_ + " could not be opened anew after a full disk"};
}

// ---- reads and writes ---------------------------------------------------------------------------

std::unique_ptr<env::KeyValueScan> RocksStore::scan(env::ColumnFamily family,
                                                    std::string_view first, std::string_view end) {
  Status can_read = readable();
  if (!can_read.ok()) return std::make_unique<FailedScan>(std::move(can_read));
  return std::make_unique<RocksScan>(database_, family, first, end);
}

Result<std::optional<std::string>> RocksStore::get(env::ColumnFamily family, std::string_view key) {
  TRY_VOID(readable());
  std::string value;
  const rocksdb::Status status =
      database_->db().Get(checked_reads(), database_->family(family), slice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  TRY_VOID(to_status(status, "get"));
  return value;
}

Result<rocksdb::WriteBatch> RocksStore::translate(const env::WriteBatch& batch) {
  rocksdb::WriteBatch out;
  for (const env::WriteBatch::Operation& operation : batch.operations()) {
    rocksdb::ColumnFamilyHandle* family = database_->family(operation.family);
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
  return out;
}

Status RocksStore::write(const env::WriteBatch& batch) {
  TRY_VOID(writable());
  TRY(rocksdb::WriteBatch translated, translate(batch));
  return kept(to_status(database_->db().Write(rocksdb::WriteOptions(), &translated), "write"));
}

Task<Status> RocksStore::sync() {
  CO_TRY_VOID(writable());
  Executor executor = co_await boost::asio::this_coro::executor;
  if (!sync_ended_) sync_ended_ = std::make_unique<Event>(std::move(executor));
  const std::uint64_t ticket = ++requested_;
  while (synced_ < ticket) {
    if (syncing_) {
      co_await sync_ended_->wait();
      continue;
    }
    CO_TRY_VOID(writable());
    syncing_ = true;
    const std::uint64_t covers = requested_;
    auto work = [this] { return to_status(database_->db().SyncWAL(), "sync"); };
    Status done = co_await run_on(syncer_.get_executor(), std::move(work));
    syncing_ = false;
    if (done.ok()) synced_ = covers;
    done = kept(std::move(done));
    sync_ended_->pulse();
    if (!done.ok()) co_return done;
  }
  co_return Status();
}

// ---- stores -------------------------------------------------------------------------------------

class RocksStores final : public env::KeyValueStores {
 public:
  explicit RocksStores(LogDamage damage) : damage_(damage) {}
  Result<std::unique_ptr<env::KeyValue>> open(const std::string& path,
                                              const std::vector<std::string>& families,
                                              env::KeyValueOpen mode) override {
    TRY(auto database, Database::open(path, families, mode, damage_));
    return std::make_unique<RocksStore>(path, families, std::move(database),
                                        mode == env::KeyValueOpen::kReadOnly, damage_);
  }
  Status destroy(const std::string& path) override;

 private:
  LogDamage damage_;
};

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

std::unique_ptr<env::KeyValueStores> make_rocksdb_stores(LogDamage damage) {
  return std::make_unique<RocksStores>(damage);
}

}  // namespace cairn::platform

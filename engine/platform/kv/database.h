// One open RocksDB database with its families, and what its errors mean to us.  Shared by a store
// and its scans, and closed by the last of them.  Includes RocksDB: for platform/kv only.
#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/env/key_value.h"
#include "engine/platform/kv/rocksdb_stores.h"

namespace cairn::platform {

/// kCorrupt says how to recover, kUnavailable (locked, no_descriptors) what to do.
Status to_status(const rocksdb::Status& status, std::string_view what);

/// Whether there is a database at `path`; an error when that can't be found out.
Result<bool> holds_store(const std::string& path);

class Database {
 public:
  /// As env::KeyValueStores::open.
  static Result<std::shared_ptr<Database>> open(const std::string& path,
                                                const std::vector<std::string>& families,
                                                env::KeyValueOpen mode, LogDamage damage);
  Database(std::unique_ptr<rocksdb::DB> db, std::vector<rocksdb::ColumnFamilyHandle*> families)
      : db_(std::move(db)), families_(std::move(families)) {}
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* family(env::ColumnFamily family) { return families_.at(family); }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

}  // namespace cairn::platform

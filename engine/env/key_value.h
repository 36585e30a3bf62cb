// An ordered key-value store with column families: what the engine needs of RocksDB and no more.
//
// Durability: batches are applied and become durable in the order they were written, each as a
// whole; a crash keeps a prefix of them.  Everything written before a sync() started is kept once
// it returns.
//
// Implementations: platform/kv (RocksDB), sim::SimKeyValue (the model it is checked against).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/env/task.h"

namespace cairn::env {

/// Position in the list of names given to open().
using ColumnFamily = std::uint32_t;

class WriteBatch {
 public:
  enum class Kind : std::uint8_t { kPut, kErase, kEraseRange };
  struct Operation {
    Kind kind;
    ColumnFamily family;
    std::string key;    ///< first key of a range
    std::string value;  ///< end of a range (exclusive)
  };

  void put(ColumnFamily family, std::string key, std::string value) {
    operations_.push_back({Kind::kPut, family, std::move(key), std::move(value)});
  }
  void erase(ColumnFamily family, std::string key) {
    operations_.push_back({Kind::kErase, family, std::move(key), {}});
  }
  /// Every key in [first, end).
  void erase_range(ColumnFamily family, std::string first, std::string end) {
    operations_.push_back({Kind::kEraseRange, family, std::move(first), std::move(end)});
  }
  const std::vector<Operation>& operations() const { return operations_; }
  bool empty() const { return operations_.empty(); }

 private:
  std::vector<Operation> operations_;
};

struct KeyValueRow {
  std::string key;
  std::string value;
};

/// Sees the store as it was when the scan began.
class KeyValueScan {
 public:
  virtual ~KeyValueScan() = default;
  /// The next row in key order, nullopt after the last; an error is never an end.
  virtual Result<std::optional<KeyValueRow>> next() = 0;
};

/// Thread: the executor's.
class KeyValue {
 public:
  virtual ~KeyValue() = default;
  virtual Result<std::optional<std::string>> get(ColumnFamily family, std::string_view key) = 0;
  /// Rows in [first, end); an empty `end` means to the last key.
  virtual std::unique_ptr<KeyValueScan> scan(ColumnFamily family, std::string_view first,
                                             std::string_view end) = 0;
  /// Atomic over families, visible when it returns, durable after a later sync().
  virtual Status write(const WriteBatch& batch) = 0;
  /// May run on a thread of its own; resumes on the caller's executor.
  virtual Task<Status> sync() = 0;
};

enum class KeyValueOpen : std::uint8_t {
  kCreate,    ///< kExists when there is a store already
  kExisting,  ///< kNotFound when there is none; kCorrupt says how to recover
  kReadOnly,  ///< existing; write and sync are kInvalid
};

class KeyValueStores {
 public:
  virtual ~KeyValueStores() = default;
  /// Blocks: meant for start-up.  `families` are opened in this order, and created when absent.
  virtual Result<std::unique_ptr<KeyValue>> open(const std::string& path,
                                                 const std::vector<std::string>& families,
                                                 KeyValueOpen mode) = 0;
  /// Removes the store and all its files; OK when there was none.
  virtual Status destroy(const std::string& path) = 0;
};

}  // namespace cairn::env

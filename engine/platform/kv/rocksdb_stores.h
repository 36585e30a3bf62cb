// env::KeyValueStores on RocksDB: a target of its own, so that who does not need RocksDB does not
// link it.  The options are fixed here and tested: log recovery, paranoid checks, no log
// recycling, no manual WAL flush.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/env/key_value.h"

namespace cairn::platform {

/// What opening does when the log is damaged before its very end.
enum class LogDamage : std::uint8_t {
  /// kCorrupt.  For stores whose every write is synced: such damage is never a crash's.
  kRefuse,
  /// Keeps the writes before the damage.  For stores with writes that nobody synced, which a power
  /// cut may persist with holes; their owner must be able to tell when a synced write is missing.
  kKeepPrefix,
};

/// sync() runs on a thread of its own and resumes on the awaiting coroutine's executor.
std::unique_ptr<env::KeyValueStores> make_rocksdb_stores(LogDamage damage);

}  // namespace cairn::platform

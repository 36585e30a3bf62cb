// env::KeyValueStores on RocksDB: a target of its own, so that who does not need RocksDB does not
// link it.  The options are fixed here and tested: TolerateCorruptedTail, paranoid checks, no log
// recycling, no manual WAL flush.
#pragma once

#include <memory>

#include "engine/env/key_value.h"

namespace cairn::platform {

/// sync() runs on a thread of its own and resumes on the awaiting coroutine's executor.
std::unique_ptr<env::KeyValueStores> make_rocksdb_stores();

}  // namespace cairn::platform

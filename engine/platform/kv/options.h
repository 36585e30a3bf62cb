// The RocksDB options that our promises rest on; a test reads them back from an open database.
// Includes RocksDB: for platform/kv and its test only.  Any thread.
#pragma once

#include <rocksdb/options.h>

#include "engine/base/units.h"
#include "engine/platform/kv/rocksdb_stores.h"

namespace cairn::platform {

/// Log to be replayed by a start after a kill, which may take less than a second.
inline constexpr std::uint64_t kLogBytesMax = 16 * kMiB;

rocksdb::DBOptions database_options(LogDamage damage);
rocksdb::ColumnFamilyOptions family_options();

}  // namespace cairn::platform

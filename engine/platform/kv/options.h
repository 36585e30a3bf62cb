// The RocksDB options that our promises rest on; a test reads them back from an open database.
// Includes RocksDB: for platform/kv and its test only.  Any thread.
#pragma once

#include <rocksdb/options.h>

namespace cairn::platform {

rocksdb::DBOptions database_options();
rocksdb::ColumnFamilyOptions family_options();

}  // namespace cairn::platform

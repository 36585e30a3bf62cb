#include "engine/platform/kv/options.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

namespace cairn::platform {
namespace {

constexpr std::uint64_t kWriteBufferBytes = 4 * kMiB;
constexpr std::uint64_t kBlockCacheBytes = 16 * kMiB;
constexpr int kOpenTablesMax = 256;

}  // namespace

rocksdb::DBOptions database_options(LogDamage damage) {
  rocksdb::DBOptions options;
  options.create_missing_column_families = true;
  // A torn tail is what a power cut leaves of one synced write; of writes that were not synced it
  // may leave holes.  Both modes also hide a flipped bit, so that who keeps a store compares its
  // own commit number with a mark kept outside it.
  options.wal_recovery_mode = damage == LogDamage::kKeepPrefix
                                  ? rocksdb::WALRecoveryMode::kPointInTimeRecovery
                                  : rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.recycle_log_file_num = 0;  // a recycled log's old records could pass for its tail
  options.manual_wal_flush = false;  // a write that returned is in the kernel: a kill keeps it
  options.paranoid_checks = true;
  options.avoid_flush_during_recovery = false;
  options.max_total_wal_size = kLogBytesMax;
  options.max_open_files = kOpenTablesMax;
  options.keep_log_file_num = 2;
  options.max_log_file_size = 1 * kMiB;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.max_background_jobs = 2;
  return options;
}

rocksdb::ColumnFamilyOptions family_options() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = kWriteBufferBytes;
  options.max_write_buffer_number = 3;
  options.compression = rocksdb::kNoCompression;  // records are short and mostly numbers
  rocksdb::BlockBasedTableOptions table;
  // One cache for all families and stores of the process: its bound is the process'.
  static const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  table.block_cache = cache;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace cairn::platform

// The model of a key-value store: maps, and the batches that a power cut may still take.  What
// platform/kv promises with RocksDB is checked against this one in tests/unit/kv.
//
// Copies share their maps until one of them is written, so snapshots and backups cost a pointer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/env/key_value.h"
#include "tests/sim/support/faults.h"

namespace cairn::sim {

using StoreRows = std::map<std::string, std::string>;
/// By family.
using StoreState = std::vector<std::shared_ptr<StoreRows>>;

void apply_batch(StoreState& state, const env::WriteBatch& batch);

/// What of one store lives on the disk; open handles refer to it.
class SimStore {
 public:
  /// Life of the process that has it open; 0 is nobody.
  std::uint64_t opened_by() const { return opened_by_; }
  /// Replays the log, as RocksDB does: what a failed write left in it shows up now.
  void open(std::uint64_t life, const std::vector<std::string>& families);
  void close() { opened_by_ = 0; }
  /// Position of a family that was given to some open().
  env::ColumnFamily family(const std::string& name) const;

  const StoreRows& rows(env::ColumnFamily family) const { return *current_.at(family); }
  std::shared_ptr<const StoreRows> snapshot(env::ColumnFamily family) const {
    return current_.at(family);
  }
  void write(const env::WriteBatch& batch);
  /// The write failed; `in_log`: the next open finds it all the same.  No more writes until then.
  void fail_write(const env::WriteBatch& batch, bool in_log);
  void fail_sync() { failed_ = true; }
  /// After a failed write or sync every other one fails too, until the store is opened again.
  bool failed() const { return failed_; }
  /// Number of the newest batch: what a sync that starts now will cover.
  std::uint64_t last_batch() const { return last_batch_; }
  void sync(std::uint64_t up_to);
  std::size_t unsynced_batches() const { return pending_.size(); }

  /// A power cut: keeps the synced batches and the first few of the others.
  void settle(SplitMix64& random, SimDiskStats& stats);
  void process_ended(std::uint64_t life);

  // ---- for tests
  /// A copy to come back to: an old backup that somebody restores.
  StoreState copy_synced() const { return synced_; }
  void roll_back(StoreState old);
  /// The next opens answer kCorrupt until it is mended.
  void set_corrupt(bool corrupt) { corrupt_ = corrupt; }
  bool corrupt() const { return corrupt_; }

 private:
  std::vector<std::string> families_;
  StoreState current_;
  StoreState synced_;
  std::deque<env::WriteBatch> pending_;
  std::uint64_t last_batch_ = 0;  ///< number of the last one in pending_
  std::uint64_t opened_by_ = 0;
  bool failed_ = false;
  bool corrupt_ = false;
};

}  // namespace cairn::sim

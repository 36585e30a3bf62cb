// The model of a key-value store: maps, and the batches that a power cut may still take.  What
// platform/kv promises with RocksDB is checked against this one in tests/unit/kv.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/env/key_value.h"
#include "tests/sim/support/faults.h"

namespace cairn::sim {

using StoreState = std::vector<std::map<std::string, std::string>>;  // by family

void apply_batch(StoreState& state, const env::WriteBatch& batch);

/// What of one store lives on the disk; open handles refer to it.
class SimStore {
 public:
  explicit SimStore(std::size_t families) : current_(families), synced_(families) {}

  const StoreState& current() const { return current_; }
  void write(const env::WriteBatch& batch);
  /// Number of the newest batch: what a sync that starts now will cover.
  std::uint64_t last_batch() const { return last_batch_; }
  void sync(std::uint64_t up_to);
  /// A power cut: the synced batches and the first few of the others.
  void settle(SplitMix64& random, SimDiskStats& stats);

  /// A copy to come back to: an old backup that somebody restores.
  StoreState copy_synced() const { return synced_; }
  void roll_back(StoreState old);
  void grow(std::size_t families);

 private:
  StoreState current_;
  StoreState synced_;
  std::deque<env::WriteBatch> pending_;
  std::uint64_t last_batch_ = 0;  ///< number of the last one in pending_
};

}  // namespace cairn::sim

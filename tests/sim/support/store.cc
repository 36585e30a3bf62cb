#include "tests/sim/support/store.h"

namespace cairn::sim {

void apply_batch(StoreState& state, const env::WriteBatch& batch) {
  for (const env::WriteBatch::Operation& operation : batch.operations()) {
    auto& family = state.at(operation.family);
    switch (operation.kind) {
      case env::WriteBatch::Kind::kPut: family[operation.key] = operation.value; break;
      case env::WriteBatch::Kind::kErase: family.erase(operation.key); break;
      case env::WriteBatch::Kind::kEraseRange:
        family.erase(family.lower_bound(operation.key), family.lower_bound(operation.value));
        break;
    }
  }
}

void SimStore::write(const env::WriteBatch& batch) {
  apply_batch(current_, batch);
  pending_.push_back(batch);
  ++last_batch_;
}

void SimStore::sync(std::uint64_t up_to) {
  while (!pending_.empty() && last_batch_ - pending_.size() < up_to) {
    apply_batch(synced_, pending_.front());
    pending_.pop_front();
  }
}

void SimStore::settle(SplitMix64& random, SimDiskStats& stats) {
  const std::uint64_t kept = random.below(pending_.size() + 1);
  stats.kept_batches += kept;
  stats.lost_batches += pending_.size() - kept;
  sync(last_batch_ - pending_.size() + kept);
  pending_.clear();
  current_ = synced_;
}

void SimStore::roll_back(StoreState old) {
  pending_.clear();
  synced_ = current_ = std::move(old);
}

void SimStore::grow(std::size_t families) {
  if (current_.size() >= families) return;
  current_.resize(families);
  synced_.resize(families);
}

}  // namespace cairn::sim

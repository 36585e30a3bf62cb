#include "tests/sim/support/store.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cairn::sim {
namespace {

StoreRows& own_rows(StoreState& state, env::ColumnFamily family) {
  std::shared_ptr<StoreRows>& rows = state.at(family);
  if (rows.use_count() > 1) rows = std::make_shared<StoreRows>(*rows);
  return *rows;
}

void erase_range(StoreRows& rows, const std::string& first, const std::string& end) {
  if (first < end) rows.erase(rows.lower_bound(first), rows.lower_bound(end));
}

}  // namespace

void apply_batch(StoreState& state, const env::WriteBatch& batch) {
  for (const env::WriteBatch::Operation& operation : batch.operations()) {
    StoreRows& rows = own_rows(state, operation.family);
    switch (operation.kind) {
      case env::WriteBatch::Kind::kPut:
        rows.insert_or_assign(operation.key, operation.value);
        break;
      case env::WriteBatch::Kind::kErase:
        rows.erase(operation.key);
        break;
      case env::WriteBatch::Kind::kEraseRange:
        erase_range(rows, operation.key, operation.value);
        break;
    }
  }
}

void SimStore::open(std::uint64_t life, const std::vector<std::string>& families) {
  opened_by_ = life;
  failed_ = false;
  for (const std::string& name : families) {
    if (std::ranges::find(families_, name) != families_.end()) continue;
    families_.push_back(name);
    current_.push_back(std::make_shared<StoreRows>());
    synced_.push_back(std::make_shared<StoreRows>());
  }
  current_ = synced_;
  for (const env::WriteBatch& batch : pending_) apply_batch(current_, batch);
}

env::ColumnFamily SimStore::family(const std::string& name) const {
  const auto found = std::ranges::find(families_, name);
  CAIRN_CHECK(found != families_.end());
  return static_cast<env::ColumnFamily>(found - families_.begin());
}

void SimStore::write(const env::WriteBatch& batch) {
  apply_batch(current_, batch);
  pending_.push_back(batch);
  ++last_batch_;
}

void SimStore::fail_write(const env::WriteBatch& batch, bool in_log) {
  failed_ = true;
  if (!in_log) return;
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
  opened_by_ = 0;
}

void SimStore::process_ended(std::uint64_t life) {
  if (opened_by_ == life) opened_by_ = 0;
}

void SimStore::roll_back(StoreState old) {
  pending_.clear();
  old.resize(families_.size());
  for (auto& rows : old) {
    if (rows == nullptr) rows = std::make_shared<StoreRows>();
  }
  synced_ = current_ = std::move(old);
}

}  // namespace cairn::sim

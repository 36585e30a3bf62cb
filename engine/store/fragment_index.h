// The target's index: which fragment lies where, what is live in each segment, what waits to be
// given back, and the scan mark.  A typed face over one key-value store.
//
// The flushed header on disk is the record; this is how to find it.  A fragment is added only after
// the flush that covers it, and nothing here is durable before sync().
// Thread: the target's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/env/key_value.h"
#include "engine/store/index_format.h"

namespace cairn::store {

/// Records that change together or not at all.
class IndexChange {
 public:
  void put_fragment(const FragmentName& name, const FragmentRecord& record) {
    batch_.put(kFragmentFamily, fragment_key(name), encode(record));
  }
  void erase_fragment(const FragmentName& name) {
    batch_.erase(kFragmentFamily, fragment_key(name));
  }
  void put_segment(SegmentNumber segment, const SegmentRecord& record) {
    batch_.put(kSegmentFamily, segment_key(segment), encode(record));
  }
  /// Forgets a segment and everything dead in it; its fragments must be gone.
  void erase_segment(SegmentNumber segment) {
    batch_.erase(kSegmentFamily, segment_key(segment));
    batch_.erase_range(kDeadFamily, segment_key(segment),
                       segment_key(SegmentNumber{segment.value + 1}));
  }
  void put_dead(const Extent& extent) {
    batch_.put(kDeadFamily, dead_key(extent), encode_dead(extent));
  }
  void erase_dead(const Extent& extent) { batch_.erase(kDeadFamily, dead_key(extent)); }
  void put_mark(const ScanMark& mark) {
    batch_.put(kMetaFamily, std::string(kMarkKey), encode(mark));
  }
  const env::WriteBatch& batch() const { return batch_; }

 private:
  env::WriteBatch batch_;
};

class FragmentIndex {
 public:
  /// kNotFound, kCorrupt: the message says to run rebuild-index.
  static Result<std::unique_ptr<FragmentIndex>> open(env::KeyValueStores& stores,
                                                     const std::string& path,
                                                     env::KeyValueOpen mode);

  Result<std::optional<FragmentRecord>> find(const FragmentName& name);
  /// Up to `limit` behind `after` in name order.
  Result<std::vector<std::pair<FragmentName, FragmentRecord>>> list(
      std::optional<FragmentName> after, std::uint32_t limit);

  Result<std::vector<std::pair<SegmentNumber, SegmentRecord>>> segments();
  Result<std::vector<Extent>> dead();
  /// kCorrupt when there is none: a rebuild has not finished.
  Result<ScanMark> mark();

  Status apply(const IndexChange& change) { return store_->write(change.batch()); }
  Task<Status> sync() { return store_->sync(); }

 private:
  explicit FragmentIndex(std::unique_ptr<env::KeyValue> store) : store_(std::move(store)) {}
  std::unique_ptr<env::KeyValue> store_;
};

}  // namespace cairn::store

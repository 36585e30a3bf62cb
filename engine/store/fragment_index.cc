#include "engine/store/fragment_index.h"

namespace cairn::store {

Result<std::unique_ptr<FragmentIndex>> FragmentIndex::open(env::KeyValueStores& stores,
                                                           const std::string& path,
                                                           env::KeyValueOpen mode) {
  auto store = stores.open(path, kIndexFamilies, mode);
  if (!store) {
    Status error = std::move(store).error();
    if (error.code() != Code::kNotFound) return fail(std::move(error).with_context("index"));
    return fail(Code::kCorrupt, "the index " + path +
                                    " is missing; stop the target and run "
                                    "`cairn target rebuild-index`");
  }
  return std::unique_ptr<FragmentIndex>(new FragmentIndex(*std::move(store)));
}

Result<std::optional<FragmentRecord>> FragmentIndex::find(const FragmentName& name) {
  TRY(auto value, store_->get(kFragmentFamily, fragment_key(name)));
  if (!value) return std::nullopt;
  TRY(auto record, decode_fragment_record(*value));
  return record;
}

Result<std::vector<std::pair<FragmentName, FragmentRecord>>> FragmentIndex::list(
    std::optional<FragmentName> after, std::uint32_t limit) {
  std::string first;
  if (after) first = fragment_key(*after) + '\0';  // the smallest key behind it
  const auto scan = store_->scan(kFragmentFamily, first, {});
  std::vector<std::pair<FragmentName, FragmentRecord>> found;
  while (found.size() < limit) {
    TRY(auto row, scan->next());
    if (!row) break;
    TRY(auto name, parse_fragment_key(row->key));
    TRY(auto record, decode_fragment_record(row->value));
    found.emplace_back(name, record);
  }
  return found;
}

Result<std::vector<std::pair<SegmentNumber, SegmentRecord>>> FragmentIndex::segments() {
  const auto scan = store_->scan(kSegmentFamily, {}, {});
  std::vector<std::pair<SegmentNumber, SegmentRecord>> found;
  while (true) {
    TRY(auto row, scan->next());
    if (!row) return found;
    TRY(auto number, parse_segment_key(row->key));
    TRY(auto record, decode_segment_record(row->value));
    found.emplace_back(number, record);
  }
}

Result<std::vector<Extent>> FragmentIndex::dead() {
  const auto scan = store_->scan(kDeadFamily, {}, {});
  std::vector<Extent> found;
  while (true) {
    TRY(auto row, scan->next());
    if (!row) return found;
    TRY(auto extent, parse_dead(row->key, row->value));
    found.push_back(extent);
  }
}

Result<ScanMark> FragmentIndex::mark() {
  TRY(auto value, store_->get(kMetaFamily, kMarkKey));
  if (!value) {
    return fail(Code::kCorrupt,
                "the index is incomplete: a rebuild did not finish; run "
                "`cairn target rebuild-index` again");
  }
  return decode_scan_mark(*value);
}

}  // namespace cairn::store

// The target that the damage tests start from: a few objects, the same on every run, some deleted,
// over several segments and with an index of table files and a log, stopped in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/ids.h"
#include "engine/base/status.h"
#include "engine/base/units.h"
#include "engine/store/target_store.h"

namespace cairn::crash {

constexpr std::uint64_t kObjects = 24;
constexpr std::uint64_t kObjectMax = 300 * kKiB;

/// Objects are numbered 1..kObjects.
FragmentName name_of(std::uint64_t object);
bool is_deleted(std::uint64_t object);
std::uint64_t object_bytes(std::uint64_t object);
/// The object's bytes at the front of `into`, zeros up to the next page.
MutableBytes fill_object(std::uint64_t object, MutableBytes into);

/// Where a fragment lies in the pristine target.
struct Place {
  std::uint64_t object = 0;
  store::FragmentInfo info;
  std::string file;  ///< relative to the target
};

/// Makes it in `directory`, and a list of its places in `places_file`.  For a process that ends
/// soon: a ring and RocksDB's threads don't survive a fork.
Status make_pristine_target(const std::string& directory, const std::string& places_file);
/// For a process that opens no target itself.
std::vector<Place> read_places(const std::string& places_file);

}  // namespace cairn::crash

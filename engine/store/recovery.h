// What a start and a rebuild share: finding fragments in a segment and telling the index about
// them. Thread: the target's.
#pragma once

#include <vector>

#include "engine/store/fragment_index.h"
#include "engine/store/segment_scan.h"
#include "engine/store/segment_set.h"
#include "engine/store/superblock.h"

namespace cairn::store {

/// What one segment holds from some position on, in order of place and without overlaps.
struct SegmentFindings {
  std::vector<FoundFragment> found;  ///< not known to the index: verified, or kept as suspect
  std::vector<Extent> known;         ///< indexed, or deleted and waiting for its punch
  std::uint64_t from = 0;
  std::uint64_t end = 0;  ///< length of the file

  /// Ranges of [from, end) that hold neither: torn writes, abandoned puts, the preallocated tail.
  std::vector<Extent> gaps(SegmentNumber segment) const;
};

/// Scans `segment` from `from`.  `known` as in ScanRequest.
Task<Result<SegmentFindings>> find_fragments(
    env::BlockDevice& device, io::PiecePool& pool, env::DeviceFile file, SegmentNumber segment,
    std::uint64_t from, const Superblock& superblock,
    std::function<Result<bool>(const FragmentHeader&, const Extent&)> known);

/// Puts one found fragment into the index.  A name that is there already keeps its place unless
/// that one is suspect and this one verified; the loser's extent is appended to `dead`.
Status merge_found(FragmentIndex& index, SegmentSet& segments, const FoundFragment& found,
                   std::vector<Extent>& dead);

/// The segment files in `path`, in order.  Files that are none are left alone and logged.
Result<std::vector<SegmentNumber>> list_segments(env::Files& files, const std::string& path);

}  // namespace cairn::store

#include "engine/store/recovery.h"

#include <algorithm>

#include "engine/base/log.h"

namespace cairn::store {
namespace {

std::uint64_t end_of(const Extent& extent) { return extent.offset + extent.bytes; }

bool overlaps(const Extent& a, const Extent& b) {
  return a.segment == b.segment && a.offset < end_of(b) && b.offset < end_of(a);
}

/// A suspect whose claimed range reaches into a fragment that is certain was no fragment: extents
/// of real ones never overlap.  Punching it later must not hit its neighbour.
void drop_overlapping_suspects(SegmentFindings& findings) {
  std::vector<Extent> certain = findings.known;
  for (const FoundFragment& found : findings.found) {
    if (found.verified) certain.push_back(found.extent);
  }
  std::ranges::sort(certain);
  std::uint64_t suspects_end = 0;
  std::erase_if(findings.found, [&](const FoundFragment& found) {
    if (found.verified) return false;
    const auto next = std::ranges::lower_bound(certain, found.extent);
    const bool hits_next = next != certain.end() && overlaps(*next, found.extent);
    const bool hits_previous = next != certain.begin() && overlaps(*std::prev(next), found.extent);
    const bool hits_suspect = found.extent.offset < suspects_end;
    if (hits_next || hits_previous || hits_suspect) return true;
    suspects_end = end_of(found.extent);
    return false;
  });
}

}  // namespace

std::vector<Extent> SegmentFindings::gaps(SegmentNumber segment) const {
  std::vector<Extent> taken = known;
  for (const FoundFragment& fragment : found) taken.push_back(fragment.extent);
  std::ranges::sort(taken);
  std::vector<Extent> gaps;
  std::uint64_t at = from;
  for (const Extent& extent : taken) {
    if (extent.offset > at) gaps.push_back({segment, at, extent.offset - at});
    at = std::max(at, end_of(extent));
  }
  if (end > at) gaps.push_back({segment, at, end - at});
  return gaps;
}

Task<Result<SegmentFindings>> find_fragments(
    env::BlockDevice& device, io::PiecePool& pool, env::DeviceFile file, SegmentNumber segment,
    std::uint64_t from, const Superblock& superblock,
    std::function<Result<bool>(const FragmentHeader&, const Extent&)> known) {
  SegmentFindings findings;
  findings.from = from;
  CO_TRY(findings.end, device.file_bytes(file));
  ScanRequest request;
  request.file = file;
  request.segment = segment;
  request.from = from;
  request.cluster = superblock.cluster;
  request.target = superblock.target;
  request.known = [&](const FragmentHeader& header, const Extent& extent) -> Result<bool> {
    TRY(const bool is_known, known(header, extent));
    if (is_known) findings.known.push_back(extent);
    return is_known;
  };
  request.found = [&findings](const FoundFragment& fragment) -> Status {
    findings.found.push_back(fragment);
    return {};
  };
  CO_TRY_VOID(co_await scan_segment(device, pool, std::move(request)));
  drop_overlapping_suspects(findings);
  co_return findings;
}

Status merge_found(FragmentIndex& index, SegmentSet& segments, const FoundFragment& found,
                   std::vector<Extent>& dead) {
  const FragmentName& name = found.header.name;
  TRY(const auto existing, index.find(name));
  IndexChange change;
  const bool wins = !existing || (existing->state == FragmentState::kSuspect && found.verified);
  if (!wins) {
    change.put_dead(found.extent);
    dead.push_back(found.extent);
    return index.apply(change);
  }
  if (existing) {
    change.put_dead(existing->extent);
    change.put_segment(existing->extent.segment, segments.remove_live(existing->extent));
    dead.push_back(existing->extent);
  }
  const FragmentState state = found.verified ? FragmentState::kLive : FragmentState::kSuspect;
  change.put_fragment(name, {state, found.extent, found.header_bytes, found.header.table_hash});
  change.put_segment(found.extent.segment, segments.add_live(found.extent));
  return index.apply(change);
}

Result<std::vector<SegmentNumber>> list_segments(env::Files& files, const std::string& path) {
  TRY(const auto entries, files.list(path));
  std::vector<SegmentNumber> segments;
  for (const env::DirectoryEntry& entry : entries) {
    if (const auto number = parse_segment_file_name(entry.name)) {
      segments.push_back(*number);
    } else {
      log_warn("store", path + '/' + entry.name + " is not a segment; left alone");
    }
  }
  std::ranges::sort(segments);
  return segments;
}

}  // namespace cairn::store

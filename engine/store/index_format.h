// Keys and values of a target's index: the only place that knows these bytes (docs/formats.md).
// Keys are big-endian so that their order is the order of names and places.  Values begin with a
// version; unknown ones are refused with both numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/status.h"
#include "engine/store/target_store.h"

namespace cairn::store {

inline constexpr std::uint8_t kIndexFormat = 1;

/// Column families, in this order.
enum IndexFamily : std::uint32_t { kFragmentFamily, kSegmentFamily, kDeadFamily, kMetaFamily };
inline const std::vector<std::string> kIndexFamilies = {"fragment", "segment", "dead", "meta"};

/// A contiguous range of one segment.
struct Extent {
  SegmentNumber segment;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  constexpr auto operator<=>(const Extent&) const = default;
};

/// Family `fragment`: name -> where it is.
struct FragmentRecord {
  FragmentState state = FragmentState::kLive;
  Extent extent;  ///< header and data
  std::uint32_t header_bytes = 0;
  std::uint64_t table_hash = 0;

  std::uint64_t data_bytes() const { return extent.bytes - header_bytes; }
  constexpr bool operator==(const FragmentRecord&) const = default;
};

/// Family `segment`: number -> what is live in it.
struct SegmentRecord {
  std::uint64_t fragments = 0;
  std::uint64_t bytes = 0;
  constexpr bool operator==(const SegmentRecord&) const = default;
};

/// Family `meta`, key "mark": everything below a position is indexed; segments that are not listed,
/// up to `segment_highest`, are indexed as a whole.
struct ScanMark {
  std::uint64_t commit = 0;  ///< number of this synced index commit
  SegmentNumber segment_highest;
  struct Position {
    SegmentNumber segment;
    std::uint64_t offset = 0;
    constexpr bool operator==(const Position&) const = default;
  };
  std::vector<Position> open;  ///< at most kOpenSegmentsMax

  bool operator==(const ScanMark&) const = default;
};
inline constexpr std::string_view kMarkKey = "mark";

std::string fragment_key(const FragmentName& name);
Result<FragmentName> parse_fragment_key(std::string_view key);
std::string segment_key(SegmentNumber segment);
Result<SegmentNumber> parse_segment_key(std::string_view key);
/// Family `dead`: (segment, offset) -> length; its blocks are to be given back.
std::string dead_key(const Extent& extent);
Result<Extent> parse_dead(std::string_view key, std::string_view value);
std::string encode_dead(const Extent& extent);

std::string encode(const FragmentRecord& record);
std::string encode(const SegmentRecord& record);
std::string encode(const ScanMark& mark);
Result<FragmentRecord> decode_fragment_record(std::string_view value);
Result<SegmentRecord> decode_segment_record(std::string_view value);
Result<ScanMark> decode_scan_mark(std::string_view value);

}  // namespace cairn::store

// The header in front of every fragment on disk: everything needed to judge and serve the fragment
// without any other record.  The only place that knows these offsets; docs/formats.md shows them
// too.
//
// It counts only at the place it names (target, segment, offset), because payload may contain
// headers, and without an index record only after the data behind it verifies, because a crash may
// leave a header without its data.
#pragma once

#include <cstdint>

#include "engine/base/bytes.h"
#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "engine/base/status.h"
#include "engine/codec/hash_table.h"
#include "engine/layout/geometry.h"

namespace cairn::store {

inline constexpr std::uint64_t kFragmentMagic = 0x31474152464e5243ULL;  // "CRNFRAG1"
inline constexpr std::uint32_t kFragmentFormat = 1;
/// Fixed part before the hash table.
inline constexpr std::uint64_t kFragmentFixedBytes = 160;

/// On disk, little-endian.  The header hash covers all header bytes with its own field as zero.
///   0 magic u64        8 format u32        12 header_bytes u32   16 header_hash u64
///  24 cluster 16 B    40 target 16 B       56 segment u64        64 segment_offset u64
///  72 volume u64      80 incarnation u64   88 counter u64        96 placement u32
/// 100 index u8       101 data u8          102 parity u8         103 zero u8
/// 104 unit_bytes u32 108 zero u32         112 object_bytes u64  120 data_bytes u64
/// 128 table_bytes u64                     136 table_hash u64    144 zero 16 B   160 table
struct FragmentHeader {
  Uuid cluster;
  Uuid target;
  SegmentNumber segment;
  std::uint64_t segment_offset = 0;
  VolumeId volume;
  FragmentName name;
  layout::Geometry geometry;
  std::uint64_t table_hash = 0;

  bool operator==(const FragmentHeader&) const = default;
  /// Bytes of data behind the header.
  std::uint64_t data_bytes() const { return layout::fragment_bytes(geometry); }
};

/// A header with the table in it: a multiple of kPageBytes, at most kFragmentHeaderBytesMax.
std::uint64_t header_bytes(const layout::Geometry& geometry);
/// Header and data.
inline std::uint64_t extent_bytes(const layout::Geometry& geometry) {
  return header_bytes(geometry) + layout::fragment_bytes(geometry);
}

/// Writes exactly header_bytes(header.geometry) to the front of `out`; `table` fits the geometry.
void encode_header(const FragmentHeader& header, Bytes table, MutableBytes out);

struct DecodedHeader {
  FragmentHeader header;
  std::uint32_t header_bytes = 0;
  Bytes table;  ///< inside the bytes that were decoded
};

/// True when `bytes` begins with the magic: a cheap filter for scans.
bool looks_like_header(Bytes bytes);
/// Decodes untrusted bytes.  kCorrupt says which check failed; kUnsupported (version) names both
/// versions.  `bytes` may be longer than the header.
Result<DecodedHeader> decode_header(Bytes bytes);

}  // namespace cairn::store

#include "engine/store/fragment_header.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/base/hash.h"

namespace cairn::store {
namespace {

// Offsets of the on-disk header, see fragment_header.h.
enum : std::size_t {
  kAtMagic = 0,
  kAtFormat = 8,
  kAtHeaderBytes = 12,
  kAtHeaderHash = 16,
  kAtCluster = 24,
  kAtTarget = 40,
  kAtSegment = 56,
  kAtSegmentOffset = 64,
  kAtVolume = 72,
  kAtIncarnation = 80,
  kAtCounter = 88,
  kAtPlacement = 96,
  kAtIndex = 100,
  kAtData = 101,
  kAtParity = 102,
  kAtUnitBytes = 104,
  kAtObjectBytes = 112,
  kAtDataBytes = 120,
  kAtTableBytes = 128,
  kAtTableHash = 136,
  kAtTable = kFragmentFixedBytes,
};
static_assert(kFragmentFixedBytes + kHashTableBytesMax <= kFragmentHeaderBytesMax);

/// Hash of all header bytes with the hash field as zero, without copying the table.
std::uint64_t header_hash(Bytes header) {
  std::array<std::byte, kFragmentFixedBytes> fixed;
  std::copy_n(header.data(), fixed.size(), fixed.data());
  store_le<std::uint64_t>(fixed.data() + kAtHeaderHash, 0);
  return hash64(header.subspan(kFragmentFixedBytes), hash64(fixed));
}

tl::unexpected<Status> corrupt(const char* what) {
  return fail(Code::kCorrupt, std::string("fragment header: ") + what);
}

}  // namespace

std::uint64_t header_bytes(const layout::Geometry& geometry) {
  return round_up(kFragmentFixedBytes + layout::table_bytes(geometry), kPageBytes);
}

void encode_header(const FragmentHeader& header, Bytes table, MutableBytes out) {
  const std::uint64_t bytes = header_bytes(header.geometry);
  CAIRN_CHECK(out.size() >= bytes && table.size() == layout::table_bytes(header.geometry));
  out = out.first(bytes);
  std::byte* at = out.data();
  std::fill_n(at, kFragmentFixedBytes, std::byte{0});
  store_le<std::uint64_t>(at + kAtMagic, kFragmentMagic);
  store_le<std::uint32_t>(at + kAtFormat, kFragmentFormat);
  store_le<std::uint32_t>(at + kAtHeaderBytes, static_cast<std::uint32_t>(bytes));
  std::memcpy(at + kAtCluster, header.cluster.bytes.data(), header.cluster.bytes.size());
  std::memcpy(at + kAtTarget, header.target.bytes.data(), header.target.bytes.size());
  store_le<std::uint64_t>(at + kAtSegment, header.segment.value);
  store_le<std::uint64_t>(at + kAtSegmentOffset, header.segment_offset);
  store_le<std::uint64_t>(at + kAtVolume, header.volume.value);
  store_le<std::uint64_t>(at + kAtIncarnation, header.name.object.incarnation);
  store_le<std::uint64_t>(at + kAtCounter, header.name.object.counter);
  store_le<std::uint32_t>(at + kAtPlacement, header.name.placement.value);
  store_le<std::uint8_t>(at + kAtIndex, header.name.index);
  store_le<std::uint8_t>(at + kAtData, header.geometry.data);
  store_le<std::uint8_t>(at + kAtParity, header.geometry.parity);
  store_le<std::uint32_t>(at + kAtUnitBytes, header.geometry.unit_bytes);
  store_le<std::uint64_t>(at + kAtObjectBytes, header.geometry.object_bytes);
  store_le<std::uint64_t>(at + kAtDataBytes, header.data_bytes());
  store_le<std::uint64_t>(at + kAtTableBytes, table.size());
  store_le<std::uint64_t>(at + kAtTableHash, header.table_hash);
  std::copy(table.begin(), table.end(), at + kAtTable);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(kAtTable + table.size()), out.end(),
            std::byte{0});
  store_le<std::uint64_t>(at + kAtHeaderHash, header_hash(out));
}

bool looks_like_header(Bytes bytes) {
  return bytes.size() >= kFragmentFixedBytes &&
         load_le<std::uint64_t>(bytes.data() + kAtMagic) == kFragmentMagic;
}

Result<DecodedHeader> decode_header(Bytes bytes) {
  if (!looks_like_header(bytes)) return corrupt("no magic");
  const std::byte* at = bytes.data();
  const auto format = load_le<std::uint32_t>(at + kAtFormat);
  if (format != kFragmentFormat) {
    return fail(Code::kUnsupported, Reason::kVersion,
                "fragment header has format " + std::to_string(format) + ", this build reads " +
                    std::to_string(kFragmentFormat));
  }
  const auto claimed_bytes = load_le<std::uint32_t>(at + kAtHeaderBytes);
  if (claimed_bytes > kFragmentHeaderBytesMax || claimed_bytes < kPageBytes ||
      !is_aligned(claimed_bytes, kPageBytes)) {
    return corrupt("impossible header length");
  }
  if (claimed_bytes > bytes.size()) return corrupt("header is cut short");
  bytes = bytes.first(claimed_bytes);
  if (load_le<std::uint64_t>(at + kAtHeaderHash) != header_hash(bytes)) {
    return corrupt("hash mismatch");
  }

  DecodedHeader decoded;
  FragmentHeader& header = decoded.header;
  std::memcpy(header.cluster.bytes.data(), at + kAtCluster, header.cluster.bytes.size());
  std::memcpy(header.target.bytes.data(), at + kAtTarget, header.target.bytes.size());
  header.segment.value = load_le<std::uint64_t>(at + kAtSegment);
  header.segment_offset = load_le<std::uint64_t>(at + kAtSegmentOffset);
  header.volume.value = load_le<std::uint64_t>(at + kAtVolume);
  header.name.object.incarnation = load_le<std::uint64_t>(at + kAtIncarnation);
  header.name.object.counter = load_le<std::uint64_t>(at + kAtCounter);
  header.name.placement.value = load_le<std::uint32_t>(at + kAtPlacement);
  header.name.index = load_le<std::uint8_t>(at + kAtIndex);
  header.geometry.data = load_le<std::uint8_t>(at + kAtData);
  header.geometry.parity = load_le<std::uint8_t>(at + kAtParity);
  header.geometry.unit_bytes = load_le<std::uint32_t>(at + kAtUnitBytes);
  header.geometry.object_bytes = load_le<std::uint64_t>(at + kAtObjectBytes);
  header.table_hash = load_le<std::uint64_t>(at + kAtTableHash);

  if (Status valid = layout::validate(header.geometry); !valid.ok()) {
    return corrupt("impossible geometry");
  }
  const std::uint64_t table_bytes = layout::table_bytes(header.geometry);
  if (header.name.index >= header.geometry.fragments() ||
      load_le<std::uint64_t>(at + kAtDataBytes) != header.data_bytes() ||
      load_le<std::uint64_t>(at + kAtTableBytes) != table_bytes ||
      claimed_bytes != header_bytes(header.geometry)) {
    return corrupt("lengths disagree with the geometry");
  }
  decoded.header_bytes = claimed_bytes;
  decoded.table = bytes.subspan(kAtTable, table_bytes);
  if (hash64(decoded.table) != header.table_hash) return corrupt("table hash mismatch");
  return decoded;
}

}  // namespace cairn::store

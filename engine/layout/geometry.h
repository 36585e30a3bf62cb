// How the bytes of one object lie in its k+m fragments.  Pure arithmetic, part of the format: the
// golden vectors in tests/unit/layout pin it (docs/formats.md, DESIGN section 3).
//
//   stripe  = x / (k * unit)            a stripe is k units of data and m of parity
//   index   = (x / unit) % k            the data fragment
//   place   = stripe * unit + x % unit  the offset in that fragment
//
// The last stripe uses a smaller unit of its own, ceil(tail / k) rounded up to a page, so all
// fragments of an object have one length; the missing bytes of the tail count as zeros.
#pragma once

#include <cstdint>

#include "engine/base/limits.h"
#include "engine/base/status.h"

namespace cairn::layout {

/// copies(n) is k = 1, m = n - 1.
struct Geometry {
  std::uint8_t data = 1;    ///< k
  std::uint8_t parity = 0;  ///< m
  std::uint32_t unit_bytes = static_cast<std::uint32_t>(kUnitBytesDefault);
  std::uint64_t object_bytes = 0;

  constexpr auto operator<=>(const Geometry&) const = default;
  std::uint32_t fragments() const { return std::uint32_t{data} + parity; }
};

/// A byte of an object, in a fragment.
struct Place {
  std::uint32_t fragment = 0;
  std::uint64_t offset = 0;
  constexpr auto operator<=>(const Place&) const = default;
};

/// kInvalid names the field: k or m out of range, a unit that is no multiple of the block or above
/// kUnitBytesMax, an object above kObjectBytesMax.  For geometries from a disk or a peer.
Status validate(const Geometry& geometry);

/// Bytes of every fragment: a multiple of kPageBytes; 0 for an empty object.
std::uint64_t fragment_bytes(const Geometry& geometry);
/// Blocks (hashes) of every fragment: fragment_bytes / kBlockBytes rounded up.
std::uint32_t fragment_blocks(const Geometry& geometry);
/// Bytes of the hash table of all k+m fragments, 8 per block.
std::uint64_t table_bytes(const Geometry& geometry);
/// Unit of the last, partial stripe; 0 when the object ends with a full one.
std::uint64_t tail_unit_bytes(const Geometry& geometry);

/// Where byte `x` of the object is; x < object_bytes.
Place locate(const Geometry& geometry, std::uint64_t x);
/// The byte of the object at `place` of a data fragment, or object_bytes and above for padding.
std::uint64_t object_offset(const Geometry& geometry, Place place);

}  // namespace cairn::layout

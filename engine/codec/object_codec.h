// From the bytes of an object to its parity and hash table in one pass, and back from any k
// fragments to a lost one, checked against that table.
//
// Each step of 2 KiB is hashed first and encoded then, while it is in cache, so parity can't be
// consistent with other bytes than the table says.  Pure over spans, any thread; no allocation per
// piece.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/codec/erasure.h"
#include "engine/codec/hash_table.h"
#include "engine/layout/geometry.h"

namespace cairn::codec {

/// Where the bytes of one data fragment lie inside the object, in order; the rest up to
/// layout::fragment_bytes is zeros.  At most one run per stripe.
std::vector<Bytes> data_runs(Bytes object, const layout::Geometry& geometry,
                             std::uint32_t fragment);

class ObjectCodec {
 public:
  /// `code` has the geometry's k and m and outlives this.
  ObjectCodec(const ErasureCode& code, const layout::Geometry& geometry, const ObjectId& object);

  /// Fills the parity fragments (m of them, layout::fragment_bytes long) and the table of all k+m
  /// (layout::table_bytes).  `object` has geometry.object_bytes.
  void encode(Bytes object, std::span<const MutableBytes> parity, MutableBytes table) const;

  /// Rebuilds whole fragments `wanted` from k whole fragments `sources` (indices and bytes in the
  /// same order) and checks every block of the result against `table`.
  /// kCorrupt (hash_mismatch): a source was not what the table describes; nothing may be used.
  Status reconstruct(std::span<const std::uint32_t> source_indices, std::span<const Bytes> sources,
                     std::span<const std::uint32_t> wanted_indices,
                     std::span<const MutableBytes> wanted, const HashTableView& table) const;

  /// The same for a run of blocks, for partial reads and for repair in pieces: every span is the
  /// piece of its fragment that begins at block `first_block`.  All have one length: whole blocks,
  /// but for the fragment's last one, which may be shorter.
  Status reconstruct_blocks(std::uint32_t first_block,
                            std::span<const std::uint32_t> source_indices,
                            std::span<const Bytes> sources,
                            std::span<const std::uint32_t> wanted_indices,
                            std::span<const MutableBytes> wanted, const HashTableView& table) const;

 private:
  /// One block of all k data fragments: its m parity blocks and its k+m hashes.
  void encode_block(std::uint32_t block, std::span<const Bytes> data,
                    std::span<const MutableBytes> parity, MutableBytes table) const;

  const ErasureCode& code_;
  layout::Geometry geometry_;
  ObjectId object_;
};

}  // namespace cairn::codec

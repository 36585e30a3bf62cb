// The hash table of an object: XXH3-64 of every 64 KiB block of all k+m fragments, made once by the
// writing client.  Order: fragment 0's blocks, fragment 1's, ...; little-endian.  Each hash is
// seeded with (object id, fragment index, block), so a misplaced block fails too (base/hash.h).
#pragma once

#include <cstdint>

#include "engine/base/bytes.h"
#include "engine/base/hash.h"
#include "engine/base/ids.h"
#include "engine/layout/geometry.h"

namespace cairn::codec {

/// Borrows the table's bytes; the owner says until when.
class HashTableView {
 public:
  /// kCorrupt when `bytes` is not exactly the table of `geometry`.
  static Result<HashTableView> make(Bytes bytes, const layout::Geometry& geometry);

  std::uint64_t block_hash(std::uint32_t fragment, std::uint32_t block) const {
    return load_le<std::uint64_t>(bytes_.data() + (std::size_t{fragment} * blocks_ + block) *
                                                      sizeof(std::uint64_t));
  }
  std::uint32_t blocks() const { return blocks_; }
  Bytes bytes() const { return bytes_; }
  /// What the object record and the index carry: the hash of the table itself.
  std::uint64_t hash() const { return hash64(bytes_); }

 private:
  HashTableView(Bytes bytes, std::uint32_t blocks) : bytes_(bytes), blocks_(blocks) {}
  Bytes bytes_;
  std::uint32_t blocks_;
};

/// Checks whole blocks of one fragment: `data` begins at block `first_block` and covers whole
/// blocks, but for the fragment's last one, which may be shorter.  kCorrupt (hash_mismatch) names
/// the block.
Status verify_blocks(const HashTableView& table, const ObjectId& object, std::uint32_t fragment,
                     std::uint32_t first_block, Bytes data);

/// Writes one hash into a table of table_bytes().
void put_hash(MutableBytes table, const layout::Geometry& geometry, std::uint32_t fragment,
              std::uint32_t block, std::uint64_t hash);

/// Writes the hashes of one fragment's bytes into its rows of a table; `table` has table_bytes().
/// `data` is the piece of the fragment that begins at block `first_block`.
void fill_table(MutableBytes table, const layout::Geometry& geometry, const ObjectId& object,
                std::uint32_t fragment, std::uint32_t first_block, Bytes data);

}  // namespace cairn::codec

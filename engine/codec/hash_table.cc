#include "engine/codec/hash_table.h"

#include <algorithm>
#include <string>

namespace cairn::codec {

Result<HashTableView> HashTableView::make(Bytes bytes, const layout::Geometry& geometry) {
  if (bytes.size() != layout::table_bytes(geometry)) {
    return fail(Code::kCorrupt, "the hash table has " + std::to_string(bytes.size()) +
                                    " bytes, its geometry needs " +
                                    std::to_string(layout::table_bytes(geometry)));
  }
  return HashTableView(bytes, layout::fragment_blocks(geometry));
}

Status verify_blocks(const HashTableView& table, const ObjectId& object, std::uint32_t fragment,
                     std::uint32_t first_block, Bytes data) {
  for (std::uint32_t block = first_block; !data.empty(); ++block) {
    CAIRN_CHECK(block < table.blocks());
    const Bytes part = data.first(std::min<std::size_t>(data.size(), kBlockBytes));
    if (hash64(part, block_seed(object, fragment, block)) != table.block_hash(fragment, block)) {
      return {Code::kCorrupt, Reason::kHashMismatch,
              "block " + std::to_string(block) + " of fragment " + to_string(object) + "/" +
                  std::to_string(fragment) + " differs from the writer's hash"};
    }
    data = data.subspan(part.size());
  }
  return {};
}

void put_hash(MutableBytes table, const layout::Geometry& geometry, std::uint32_t fragment,
              std::uint32_t block, std::uint64_t hash) {
  const std::uint32_t blocks = layout::fragment_blocks(geometry);
  CAIRN_CHECK(table.size() == layout::table_bytes(geometry) && fragment < geometry.fragments() &&
              block < blocks);
  store_le(table.data() + (std::size_t{fragment} * blocks + block) * sizeof(std::uint64_t), hash);
}

void fill_table(MutableBytes table, const layout::Geometry& geometry, const ObjectId& object,
                std::uint32_t fragment, std::uint32_t first_block, Bytes data) {
  for (std::uint32_t block = first_block; !data.empty(); ++block) {
    const Bytes part = data.first(std::min<std::size_t>(data.size(), kBlockBytes));
    put_hash(table, geometry, fragment, block, hash64(part, block_seed(object, fragment, block)));
    data = data.subspan(part.size());
  }
}

}  // namespace cairn::codec

#include "engine/codec/object_codec.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cairn::codec {
namespace {

/// Zeros that stand for the bytes behind the end of the object.
alignas(64) constexpr std::array<std::byte, kBlockBytes> kZeros{};

/// So much of a fragment is hashed and encoded at a time.  Fragments lie at equal offsets of a
/// page, so they share sets of a cache with a page a way (32 KiB, 8 ways); with half a page the
/// step at work and the step being fetched use different sets.  Measured: 1 KiB and 4 KiB are a
/// tenth to a fifth slower.
constexpr std::size_t kStepBytes = kPageBytes / 2;
constexpr std::size_t kCacheLineBytes = 64;

/// Asks for memory while the arithmetic of the current step runs; else the two take turns.
void prefetch(Bytes bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kCacheLineBytes) {
    __builtin_prefetch(bytes.data() + at);
  }
}

}  // namespace

std::vector<Bytes> data_runs(Bytes object, const layout::Geometry& geometry,
                             std::uint32_t fragment) {
  std::vector<Bytes> runs;
  const std::uint64_t bytes = layout::fragment_bytes(geometry);
  for (std::uint64_t at = 0; at < bytes; at += geometry.unit_bytes) {
    const std::uint64_t from = layout::object_offset(geometry, {fragment, at});
    if (from >= object.size()) break;
    const std::uint64_t unit = std::min<std::uint64_t>(geometry.unit_bytes, bytes - at);
    runs.push_back(object.subspan(from, std::min<std::uint64_t>(unit, object.size() - from)));
  }
  return runs;
}

ObjectCodec::ObjectCodec(const ErasureCode& code, const layout::Geometry& geometry,
                         const ObjectId& object)
    : code_(code), geometry_(geometry), object_(object) {
  CAIRN_CHECK(code.data() == geometry.data && code.parity() == geometry.parity);
}

void ObjectCodec::encode(Bytes object, std::span<const MutableBytes> parity,
                         MutableBytes table) const {
  CAIRN_CHECK(object.size() == geometry_.object_bytes && parity.size() == geometry_.parity &&
              table.size() == layout::table_bytes(geometry_));
  const std::uint64_t bytes = layout::fragment_bytes(geometry_);
  std::array<Bytes, kDataFragmentsMax> data;
  std::array<MutableBytes, kParityFragmentsMax> coded;
  std::array<std::byte, kBlockBytes> padded;
  for (std::uint64_t at = 0; at < bytes; at += kBlockBytes) {
    const std::uint64_t length = std::min<std::uint64_t>(kBlockBytes, bytes - at);
    for (std::uint32_t i = 0; i < geometry_.data; ++i) {
      const std::uint64_t from = layout::object_offset(geometry_, {i, at});
      const std::uint64_t present =
          from < object.size() ? std::min<std::uint64_t>(length, object.size() - from) : 0;
      if (present == length) {
        data[i] = object.subspan(from, length);
      } else if (present == 0) {
        data[i] = Bytes(kZeros).first(length);
      } else {  // only one fragment's block can hold the end of the object
        std::memcpy(padded.data(), object.data() + from, present);
        std::memset(padded.data() + present, 0, length - present);
        data[i] = Bytes(padded).first(length);
      }
    }
    for (std::uint32_t p = 0; p < geometry_.parity; ++p) coded[p] = parity[p].subspan(at, length);
    encode_block(static_cast<std::uint32_t>(at / kBlockBytes),
                 std::span(data).first(geometry_.data), std::span(coded).first(geometry_.parity),
                 table);
  }
}

void ObjectCodec::encode_block(std::uint32_t block, std::span<const Bytes> data,
                               std::span<const MutableBytes> parity, MutableBytes table) const {
  const std::uint32_t k = geometry_.data;
  const std::size_t length = data[0].size();
  static_assert(kPageBytes % kStepBytes == 0);  // a block is whole pages, so whole steps
  std::array<Hash64Stream, kFragmentsMax> hashes;
  for (std::uint32_t i = 0; i < geometry_.fragments(); ++i) {
    hashes[i].start(block_seed(object_, i, block));
  }
  std::array<MutableBytes, kParityFragmentsMax> coded;
  for (std::size_t at = 0; at < length; at += kStepBytes) {
    const std::size_t next_bytes = std::min(kStepBytes, length - at - kStepBytes);
    for (std::size_t p = 0; p < parity.size(); ++p) coded[p] = parity[p].subspan(at, kStepBytes);
    for (std::uint32_t i = 0; i < k; ++i) {
      const Bytes step = data[i].subspan(at, kStepBytes);
      hashes[i].add(step);
      prefetch(data[i].subspan(at + kStepBytes, next_bytes));
      code_.add(i, step, std::span(coded).first(parity.size()));
    }
    for (std::size_t p = 0; p < parity.size(); ++p) hashes[k + p].add(coded[p]);
  }
  for (std::uint32_t i = 0; i < geometry_.fragments(); ++i) {
    put_hash(table, geometry_, i, block, hashes[i].value());
  }
}

Status ObjectCodec::reconstruct(std::span<const std::uint32_t> source_indices,
                                std::span<const Bytes> sources,
                                std::span<const std::uint32_t> wanted_indices,
                                std::span<const MutableBytes> wanted,
                                const HashTableView& table) const {
  const std::uint64_t bytes = layout::fragment_bytes(geometry_);
  for (const Bytes source : sources) CAIRN_CHECK(source.size() == bytes);
  for (const MutableBytes out : wanted) CAIRN_CHECK(out.size() == bytes);
  return reconstruct_blocks(0, source_indices, sources, wanted_indices, wanted, table);
}

Status ObjectCodec::reconstruct_blocks(std::uint32_t first_block,
                                       std::span<const std::uint32_t> source_indices,
                                       std::span<const Bytes> sources,
                                       std::span<const std::uint32_t> wanted_indices,
                                       std::span<const MutableBytes> wanted,
                                       const HashTableView& table) const {
  TRY(const auto decoder, code_.make_decoder(source_indices, wanted_indices));
  CAIRN_CHECK(sources.size() == geometry_.data && wanted.size() == wanted_indices.size());
  const std::uint64_t bytes = sources[0].size();
  const std::uint64_t end = std::uint64_t{first_block} * kBlockBytes + bytes;
  const std::uint64_t fragment = layout::fragment_bytes(geometry_);
  CAIRN_CHECK(end <= fragment && (bytes % kBlockBytes == 0 || end == fragment));
  std::array<Bytes, kDataFragmentsMax> from;
  std::array<MutableBytes, kFragmentsMax> to;
  for (std::uint64_t at = 0; at < bytes; at += kBlockBytes) {
    const std::uint64_t length = std::min<std::uint64_t>(kBlockBytes, bytes - at);
    const auto block = first_block + static_cast<std::uint32_t>(at / kBlockBytes);
    for (std::size_t i = 0; i < sources.size(); ++i) from[i] = sources[i].subspan(at, length);
    for (std::size_t i = 0; i < wanted.size(); ++i) to[i] = wanted[i].subspan(at, length);
    decoder.decode(std::span(from).first(sources.size()), std::span(to).first(wanted.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      TRY_VOID(verify_blocks(table, object_, wanted_indices[i], block, to[i]));
    }
  }
  return {};
}

}  // namespace cairn::codec

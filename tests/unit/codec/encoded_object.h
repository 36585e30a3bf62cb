// An object with all its fragments and its table, as writers make it and targets hold it, for the
// tests of this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/codec/object_codec.h"

namespace cairn::codec {

using Buffer = std::vector<std::byte>;

inline constexpr ObjectId kObject{42, 7};
inline constexpr auto kUnit = static_cast<std::uint32_t>(kBlockBytes);

/// CAIRN_SEED, which repeats a failure, or `otherwise`.
inline std::uint64_t seed_or(std::uint64_t otherwise) {
  const char* seed = std::getenv("CAIRN_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : otherwise;
}

inline Buffer random_bytes(std::uint64_t bytes, std::uint64_t seed) {
  Buffer out(bytes);
  SplitMix64 random(seed);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random.next());
  return out;
}

inline std::string describe(const layout::Geometry& g) {
  return std::to_string(g.data) + "+" + std::to_string(g.parity) + " of " +
         std::to_string(g.object_bytes);
}

/// The bytes are those of the seed `object_bytes + k`: golden values depend on it.
struct Encoded {
  explicit Encoded(const layout::Geometry& g)
      : geometry(g),
        object(random_bytes(g.object_bytes, g.object_bytes + g.data)),
        code(g.data, g.parity),
        table(layout::table_bytes(g)) {
    const std::uint64_t bytes = layout::fragment_bytes(g);
    fragments.assign(g.fragments(), Buffer(bytes));
    const std::vector<MutableBytes> parity(fragments.begin() + g.data, fragments.end());
    ObjectCodec(code, g, kObject).encode(object, parity, table);
    for (std::uint32_t i = 0; i < g.data; ++i) {
      std::size_t at = 0;
      for (const Bytes run : data_runs(object, g, i)) {
        std::ranges::copy(run, fragments[i].begin() + static_cast<std::ptrdiff_t>(at));
        at += run.size();
      }
    }
  }
  HashTableView view() const { return *HashTableView::make(table, geometry); }
  ObjectCodec codec() const { return {code, geometry, kObject}; }

  layout::Geometry geometry;
  Buffer object;
  ErasureCode code;
  Buffer table;
  std::vector<Buffer> fragments;
};

/// One reconstruction: which fragments are read, which are made, and for which blocks.
struct Rebuild {
  std::vector<std::uint32_t> sources;
  std::vector<std::uint32_t> wanted;
  std::uint32_t first_block = 0;
  std::uint64_t offset = 0;  ///< in the fragment
  std::uint64_t bytes = 0;
  std::vector<Buffer> made = {};

  /// Blocks `first` to `end`, the latter not included, of fragments of `encoded`.
  static Rebuild blocks(const Encoded& encoded, std::vector<std::uint32_t> sources,
                        std::vector<std::uint32_t> wanted, std::uint32_t first, std::uint32_t end) {
    const std::uint64_t from = first * kBlockBytes;
    const std::uint64_t to = std::min(end * kBlockBytes, layout::fragment_bytes(encoded.geometry));
    return {std::move(sources), std::move(wanted), first, from, to - from};
  }
  static Rebuild whole(const Encoded& encoded, std::vector<std::uint32_t> sources,
                       std::vector<std::uint32_t> wanted) {
    return blocks(encoded, std::move(sources), std::move(wanted), 0,
                  layout::fragment_blocks(encoded.geometry));
  }

  Status run(const Encoded& encoded) {
    std::vector<Bytes> from;
    for (const std::uint32_t source : sources) {
      from.push_back(Bytes(encoded.fragments[source]).subspan(offset, bytes));
    }
    made.assign(wanted.size(), Buffer(bytes));
    const std::vector<MutableBytes> to(made.begin(), made.end());
    return encoded.codec().reconstruct_blocks(first_block, sources, from, wanted, to,
                                              encoded.view());
  }
  /// True when what was made is what the fragments hold there.
  bool agrees(const Encoded& encoded) const {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Bytes there = Bytes(encoded.fragments[wanted[i]]).subspan(offset, bytes);
      if (!std::ranges::equal(made[i], there)) return false;
    }
    return true;
  }
};

}  // namespace cairn::codec

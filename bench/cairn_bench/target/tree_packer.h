// Packs the bytes of a directory tree into objects: regular files in name order, many small ones in
// one object, large ones over several.  Symbolic links, devices and files that may not be read are
// left out and counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cairn_bench/target/ack_journal.h"
#include "engine/base/bytes.h"

namespace cairn::bench {

class TreePacker {
 public:
  /// Lists the tree.  kNotFound when `root` is no directory.
  static Result<TreePacker> make(const std::string& root);

  struct Packed {
    std::uint64_t bytes = 0;  ///< 0: the end
    std::vector<Source> sources;
  };
  /// Fills `into` with the next bytes of the tree.
  Result<Packed> next(MutableBytes into);
  void rewind();

  std::uint64_t files() const { return files_.size(); }
  std::uint64_t skipped() const { return skipped_; }

 private:
  TreePacker() = default;
  std::vector<std::string> files_;
  std::uint64_t skipped_ = 0;
  std::size_t at_ = 0;        ///< in files_
  std::uint64_t offset_ = 0;  ///< in that file
};

}  // namespace cairn::bench

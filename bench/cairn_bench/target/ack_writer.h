// `cairn-bench target DIR --from TREE --acks FILE`: writes the bytes of a directory tree to a
// target and notes every acknowledged fragment in a journal.  Made to be killed.
#pragma once

#include <cstdint>
#include <string>

#include "engine/env/env.h"

namespace cairn::bench {

struct AckWriterOptions {
  std::string directory;
  std::string tree;
  std::string journal;
  std::uint64_t incarnation = 0;  ///< of the names written; 0: from the clock
  std::uint64_t object_bytes = 0;
  std::uint32_t writers = 0;
  bool repeat = false;  ///< start over at the end of the tree, until killed
};

struct AckWriterTotals {
  std::uint64_t files = 0;
  std::uint64_t skipped = 0;  ///< links, devices, unreadable files
  std::uint64_t fragments = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;  ///< first put to last acknowledgement
};

Task<Result<AckWriterTotals>> write_tree(env::Env env, AckWriterOptions options);

}  // namespace cairn::bench

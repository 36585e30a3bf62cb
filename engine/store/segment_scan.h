// Finds fragments in a segment by their own headers: at restart past the mark, and for a rebuild.
//
// A header counts only at the place it names, and without an index record only after its data
// verifies: payload may contain headers, and a crash may leave a header without its data.
// Thread: the target's.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/env/device.h"
#include "engine/io/piece_pool.h"
#include "engine/store/fragment_header.h"
#include "engine/store/index_format.h"

namespace cairn::store {

/// A header at its own place.
struct FoundFragment {
  FragmentHeader header;
  Extent extent;
  std::uint32_t header_bytes = 0;
  bool verified = false;  ///< all of its data agrees with its table
};

struct ScanRequest {
  env::DeviceFile file;
  SegmentNumber segment;
  std::uint64_t from = 0;
  Uuid cluster;
  Uuid target;
  /// True: the index already knows what is at this extent (a fragment, or a deleted one), so its
  /// data is not read and it is not reported.
  std::function<Result<bool>(const FragmentHeader&, const Extent&)> known;
  std::function<Status(const FoundFragment&)> found;
};

/// Reads from `from` to the end of the file.  kIo: part of it could not be read, and nothing may be
/// concluded about that part.
Task<Status> scan_segment(env::BlockDevice& device, io::PiecePool& pool, ScanRequest request);

/// Reads and decodes the header at `extent`, checks that it names this place, this target and
/// `name`. The table in the result lies in `memory`, which is page-aligned and
/// kFragmentHeaderBytesMax long.
Task<Result<DecodedHeader>> read_header(env::BlockDevice& device, env::DeviceFile file,
                                        Extent extent, std::uint32_t header_bytes,
                                        MutableBytes memory);

/// Reads the data behind a header and checks it against `table`: OK or kCorrupt (hash_mismatch).
Task<Status> verify_data(env::BlockDevice& device, env::DeviceFile file, io::PiecePool& pool,
                         const DecodedHeader& decoded);

}  // namespace cairn::store

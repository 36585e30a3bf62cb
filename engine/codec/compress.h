// Optional zstd framing of byte strings: off by default and outside the object layout.
// Frame: magic "CRNZSTD1" u64, raw length u64, XXH3-64 of the raw bytes u64, zstd data.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/bytes.h"
#include "engine/base/status.h"

namespace cairn::codec {

inline constexpr std::uint64_t kCompressedMagic = 0x31445453'5a4e5243ULL;  // "CRNZSTD1"

/// `level` is zstd's (1 fast .. 19 small).
Result<std::string> compress(Bytes raw, int level);
/// kInvalid (too_large): the frame claims more than `raw_bytes_max`; nothing was allocated.
/// kCorrupt: cut short, damaged, or not a frame.
Result<std::string> decompress(Bytes frame, std::uint64_t raw_bytes_max);

}  // namespace cairn::codec

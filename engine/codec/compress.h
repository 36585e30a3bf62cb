// Optional zstd framing of byte strings: off by default and outside the object layout.
// Frame, little-endian: magic "CRNZ" u32, version u32, raw length u64, XXH3-64 of the raw bytes
// u64, then one zstd frame.
//
// Pure, any thread; the caller bounds what may be allocated.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/bytes.h"
#include "engine/base/status.h"

namespace cairn::codec {

inline constexpr std::uint32_t kCompressedMagic = 0x5a4e5243;  // "CRNZ"
inline constexpr std::uint32_t kCompressedVersion = 1;

/// `level` is zstd's (1 fast .. 19 small).
Result<std::string> compress(Bytes raw, int level);
/// kInvalid (too_large): the frame claims more than `raw_bytes_max`; nothing was allocated.
/// kUnsupported (version): a version that this build does not know.
/// kCorrupt: cut short, damaged, or not a frame; also when zstd's own header claims another length.
Result<std::string> decompress(Bytes frame, std::uint64_t raw_bytes_max);

}  // namespace cairn::codec

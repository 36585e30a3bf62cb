#include "engine/codec/compress.h"

#include <zstd.h>

#include "engine/base/hash.h"

namespace cairn::codec {
namespace {

constexpr std::size_t kFrameHeaderBytes = 24;

}  // namespace

Result<std::string> compress(Bytes raw, int level) {
  std::string frame;
  append_le(frame, kCompressedMagic);
  append_le(frame, kCompressedVersion);
  append_le(frame, std::uint64_t{raw.size()});
  append_le(frame, hash64(raw));
  frame.resize(kFrameHeaderBytes + ZSTD_compressBound(raw.size()));
  const std::size_t bytes =
      ZSTD_compress(frame.data() + kFrameHeaderBytes, frame.size() - kFrameHeaderBytes, raw.data(),
                    raw.size(), level);
  if (ZSTD_isError(bytes)) {
    return fail(Code::kInvalid, std::string("compress: ") + ZSTD_getErrorName(bytes));
  }
  frame.resize(kFrameHeaderBytes + bytes);
  return frame;
}

Result<std::string> decompress(Bytes frame, std::uint64_t raw_bytes_max) {
  ByteReader in(frame);
  const bool magic = in.le<std::uint32_t>() == kCompressedMagic;
  const auto version = in.le<std::uint32_t>();
  const auto raw_bytes = in.le<std::uint64_t>();
  const auto hash = in.le<std::uint64_t>();
  if (!in.ok() || !magic) return fail(Code::kCorrupt, "compressed frame: no header");
  if (version != kCompressedVersion) {
    return fail(Code::kUnsupported, Reason::kVersion,
                "compressed frame: version " + std::to_string(version) + ", this build knows " +
                    std::to_string(kCompressedVersion));
  }
  if (raw_bytes > raw_bytes_max) {
    return fail(Code::kInvalid, Reason::kTooLarge,
                "compressed frame claims " + std::to_string(raw_bytes) + " bytes, at most " +
                    std::to_string(raw_bytes_max) + " are allowed here");
  }
  const Bytes packed = frame.subspan(kFrameHeaderBytes);
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != raw_bytes) {
    return fail(Code::kCorrupt, "compressed frame: the two lengths in it differ");
  }
  std::string raw(raw_bytes, '\0');
  const std::size_t bytes = ZSTD_decompress(raw.data(), raw.size(), packed.data(), packed.size());
  if (ZSTD_isError(bytes) || bytes != raw_bytes || hash64(as_bytes(raw)) != hash) {
    return fail(Code::kCorrupt, "compressed frame: damaged or cut short");
  }
  return raw;
}

}  // namespace cairn::codec

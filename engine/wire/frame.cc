#include "engine/wire/frame.h"

#include <string>

#include "engine/base/hash.h"
#include "engine/base/units.h"

namespace cairn::wire {
namespace {

// Offsets of the header, see frame.h.
enum : std::size_t {
  kAtMagic = 0,
  kAtFormat = 4,
  kAtType = 6,
  kAtFlags = 8,
  kAtBodyBytes = 12,
  kAtPayloadBytes = 16,
  kAtRequest = 24,
  kAtDeadline = 32,
  kAtZero32 = 36,
  kAtEpoch = 40,
  kAtZero64 = 48,
  kAtHash = 56,
};
static_assert(kAtHash + sizeof(std::uint64_t) == kFrameHeaderBytes);

std::uint64_t hash_of(const FrameHeaderBytes& bytes) { return hash64(Bytes(bytes).first(kAtHash)); }

tl::unexpected<Status> corrupt(const char* what) {
  return fail(Code::kCorrupt, std::string("frame header: ") + what);
}

tl::unexpected<Status> too_large(const char* what, std::uint64_t bytes, std::uint64_t bytes_max) {
  return fail(Code::kInvalid, Reason::kTooLarge,
              std::string("frame header: ") + what + " of " + format_bytes(bytes) + ", at most " +
                  format_bytes(bytes_max) + " are taken here");
}

}  // namespace

FrameHeaderBytes encode(const FrameHeader& header) {
  CAIRN_CHECK((header.flags & ~kFrameFlags) == 0);
  CAIRN_CHECK(header.body_bytes <= kFrameBodyBytesMax);
  CAIRN_CHECK(header.payload_bytes <= kFramePayloadBytesMax);
  FrameHeaderBytes out{};
  std::byte* const at = out.data();
  store_le<std::uint32_t>(at + kAtMagic, kFrameMagic);
  store_le<std::uint16_t>(at + kAtFormat, kFrameFormat);
  store_le<std::uint16_t>(at + kAtType, header.type);
  store_le<std::uint32_t>(at + kAtFlags, header.flags);
  store_le<std::uint32_t>(at + kAtBodyBytes, header.body_bytes);
  store_le<std::uint64_t>(at + kAtPayloadBytes, header.payload_bytes);
  store_le<std::uint64_t>(at + kAtRequest, header.request);
  store_le<std::uint32_t>(at + kAtDeadline, header.deadline_ms);
  store_le<std::uint64_t>(at + kAtEpoch, header.epoch.value);
  store_le<std::uint64_t>(at + kAtHash, hash_of(out));
  return out;
}

Result<FrameHeader> decode_frame_header(const FrameHeaderBytes& bytes, const FrameLimits& limits) {
  const std::byte* const at = bytes.data();
  if (load_le<std::uint32_t>(at + kAtMagic) != kFrameMagic) {
    return corrupt("no magic: the peer does not speak Cairn's protocol");
  }
  const auto format = load_le<std::uint16_t>(at + kAtFormat);
  if (format != kFrameFormat) {
    return fail(Code::kUnsupported, Reason::kVersion,
                "frame header: format " + std::to_string(format) + ", this build knows " +
                    std::to_string(kFrameFormat) + "; use releases that are one apart at most");
  }
  if (load_le<std::uint64_t>(at + kAtHash) != hash_of(bytes)) return corrupt("hash mismatch");
  FrameHeader header;
  header.type = load_le<std::uint16_t>(at + kAtType);
  header.flags = load_le<std::uint32_t>(at + kAtFlags);
  header.body_bytes = load_le<std::uint32_t>(at + kAtBodyBytes);
  header.payload_bytes = load_le<std::uint64_t>(at + kAtPayloadBytes);
  header.request = load_le<std::uint64_t>(at + kAtRequest);
  header.deadline_ms = load_le<std::uint32_t>(at + kAtDeadline);
  header.epoch = Epoch{load_le<std::uint64_t>(at + kAtEpoch)};
  if ((header.flags & ~kFrameFlags) != 0) return corrupt("unknown flags");
  if (load_le<std::uint32_t>(at + kAtZero32) != 0 || load_le<std::uint64_t>(at + kAtZero64) != 0) {
    return corrupt("reserved bytes are in use");
  }
  if (header.body_bytes > limits.body_bytes_max) {
    return too_large("a body", header.body_bytes, limits.body_bytes_max);
  }
  if (header.payload_bytes > limits.payload_bytes_max) {
    return too_large("a payload", header.payload_bytes, limits.payload_bytes_max);
  }
  return header;
}

}  // namespace cairn::wire

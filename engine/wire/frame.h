// The header in front of every message between two processes: what follows, how much of it, and
// which request it belongs to.  The only place that knows these offsets; docs/formats.md shows them
// too.  A body (protobuf) and a payload (raw bytes) of the lengths given here follow, in this
// order.
//
// Pure.  Called by: the connection's state machines, on any thread.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/bytes.h"
#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "engine/base/status.h"

namespace cairn::wire {

inline constexpr std::uint32_t kFrameMagic = 0x574e5243;  // "CRNW"
/// Of this header; what the bodies mean is negotiated by hello.
inline constexpr std::uint16_t kFrameFormat = 1;
inline constexpr std::size_t kFrameHeaderBytes = 64;

/// What a frame is, beside its type.  Unknown bits are refused: whoever sets one relies on it.
enum FrameFlag : std::uint32_t {
  kReply = 1u << 0,     ///< answers the request of this id
  kError = 1u << 1,     ///< a reply whose body is an error
  kProgress = 1u << 2,  ///< the request is being worked on; its reply comes later
  kCancel = 1u << 3,    ///< the caller gave up: the reply, if one comes, is thrown away
};
inline constexpr std::uint32_t kFrameFlags = kReply | kError | kProgress | kCancel;

/// On the wire, little-endian.
///   0 magic u32         4 format u16       6 type u16         8 flags u32   12 body_bytes u32
///  16 payload_bytes u64 24 request u64    32 deadline_ms u32 36 zero u32
///  40 epoch u64         48 zero u64       56 header_hash u64: XXH3-64 of bytes 0 to 55
struct FrameHeader {
  std::uint16_t type = 0;
  std::uint32_t flags = 0;
  std::uint32_t body_bytes = 0;
  std::uint64_t payload_bytes = 0;
  /// Chosen by the caller, unique among its requests in flight on the connection.
  std::uint64_t request = 0;
  /// How long the caller still waits, from when the frame was sent: clocks of machines differ.
  /// 0: a frame that nobody waits for.
  std::uint32_t deadline_ms = 0;
  Epoch epoch;

  bool operator==(const FrameHeader&) const = default;
};

/// What the receiver takes at this moment of the connection.
struct FrameLimits {
  std::uint32_t body_bytes_max = kFrameBodyBytesMax;
  std::uint64_t payload_bytes_max = kFramePayloadBytesMax;
};
inline constexpr FrameLimits kHelloLimits{kHelloBodyBytesMax, 0};

using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

FrameHeaderBytes encode(const FrameHeader& header);

/// Decodes untrusted bytes; nothing needs to be allocated before.  kCorrupt: no frame of ours, or
/// damaged.  kUnsupported (version): names both formats.  kInvalid (too_large): a length above
/// `limits`, with both.  After any error the stream has no next frame: close the connection.
Result<FrameHeader> decode_frame_header(const FrameHeaderBytes& bytes, const FrameLimits& limits);

}  // namespace cairn::wire

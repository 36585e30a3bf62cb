// Everything that an unknown peer may send: frame headers, both sides of the handshake, errors. The
// first byte chooses; nothing may crash, allocate by a length it was told, or be taken for a proof.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "engine/wire/error.h"
#include "engine/wire/handshake.h"

namespace {

using namespace cairn;        // NOLINT
using namespace cairn::wire;  // NOLINT

std::string nonce(char c) { return std::string(kNonceBytes, c); }

void check_frame(Bytes bytes) {
  FrameHeaderBytes header{};
  std::memcpy(header.data(), bytes.data(), std::min(bytes.size(), header.size()));
  if (const auto decoded = decode_frame_header(header, kHelloLimits)) {
    if (encode(*decoded) != header || decoded->body_bytes > kHelloBodyBytesMax) std::abort();
  }
}

void check(std::uint8_t which, Bytes bytes) {
  Identity identity;
  identity.secret = "secret";
  FrameHeader header;
  header.flags = which & 0x80 ? kReply | kError : kReply;
  header.type = static_cast<std::uint16_t>(1 + which % 4);
  switch (which % 4) {
    case 0: {
      ClientHandshake client(identity, nonce('c'));
      if (const auto hello = client.on_greeting(header, bytes)) {
        if (client.on_welcome(hello->header, as_bytes(hello->body))) std::abort();
      }
      break;
    }
    case 1:
      if (ServerHandshake(identity, nonce('s')).on_hello(header, bytes).status.ok()) std::abort();
      break;
    case 2:
      if (decode_error(bytes).ok()) std::abort();
      break;
    default:
      check_frame(bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) check(data[0], {reinterpret_cast<const std::byte*>(data + 1), size - 1});
  return 0;
}

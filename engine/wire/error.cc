#include "engine/wire/error.h"

#include "engine/wire/handshake.pb.h"

namespace cairn::wire {

std::string encode_error(const Status& error) {
  CAIRN_CHECK(!error.ok());
  pb::Error body;
  body.set_code(static_cast<std::uint32_t>(error.code()));
  body.set_reason(static_cast<std::uint32_t>(error.reason()));
  body.set_message(std::string(error.message().substr(0, kErrorMessageBytesMax)));
  return body.SerializeAsString();
}

Status decode_error(Bytes bytes) {
  pb::Error body;
  if (!body.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || body.code() == 0) {
    return {Code::kCorrupt, "the peer refused, and its error can't be read"};
  }
  std::string message = body.message().substr(0, kErrorMessageBytesMax);
  if (body.code() > static_cast<std::uint32_t>(kCodeLast)) {
    return {Code::kUnsupported,
            "error " + std::to_string(body.code()) + " of a newer peer: " + message};
  }
  const bool reason_known = body.reason() <= static_cast<std::uint32_t>(kReasonLast);
  return {static_cast<Code>(body.code()),
          reason_known ? static_cast<Reason>(body.reason()) : Reason::kNone, std::move(message)};
}

}  // namespace cairn::wire

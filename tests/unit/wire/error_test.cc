// Errors on the wire: what a peer may send, and that it never reads as success.
#include "engine/wire/error.h"

#include <gtest/gtest.h>

#include "engine/wire/handshake.pb.h"

namespace cairn::wire {
namespace {

TEST(WireError, ComesBackAsItWasSent) {
  const Status sent(Code::kNoSpace, Reason::kQuota, "volume a: 3 bytes are left");
  const std::string body = encode_error(sent);
  const Status back = decode_error(as_bytes(body));
  EXPECT_EQ(back.code(), sent.code());
  EXPECT_EQ(back.reason(), sent.reason());
  EXPECT_EQ(back.message(), sent.message());
}

TEST(WireError, KeepsTheNumberOfACodeFromANewerPeer) {
  pb::Error body;
  body.set_code(200);
  body.set_reason(60000);
  body.set_message("new trouble");
  const std::string bytes = body.SerializeAsString();
  const Status back = decode_error(as_bytes(bytes));
  EXPECT_EQ(back.code(), Code::kUnsupported);
  EXPECT_EQ(back.message(), "error 200 of a newer peer: new trouble");
}

TEST(WireError, DropsAReasonThatItDoesNotKnow) {
  pb::Error body;
  body.set_code(static_cast<std::uint32_t>(Code::kIo));
  body.set_reason(60000);
  const std::string bytes = body.SerializeAsString();
  const Status back = decode_error(as_bytes(bytes));
  EXPECT_EQ(back.code(), Code::kIo);
  EXPECT_EQ(back.reason(), Reason::kNone);
}

TEST(WireError, IsNeverReadAsSuccess) {
  const std::string ok("\x08\x00", 2);
  for (const std::string& body : {std::string(), ok, std::string("\xff\xff")}) {
    EXPECT_EQ(decode_error(as_bytes(body)).code(), Code::kCorrupt) << body.size();
  }
}

TEST(WireError, CutsLongMessages) {
  const Status sent(Code::kIo, std::string(100'000, 'x'));
  const std::string body = encode_error(sent);
  EXPECT_LE(body.size(), kErrorMessageBytesMax + 16);
  EXPECT_EQ(decode_error(as_bytes(body)).message().size(), kErrorMessageBytesMax);
}

}  // namespace
}  // namespace cairn::wire

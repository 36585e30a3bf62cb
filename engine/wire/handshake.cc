#include "engine/wire/handshake.h"

#include <algorithm>

#include "engine/wire/error.h"
#include "engine/wire/handshake.pb.h"

namespace cairn::wire {
namespace {

std::string text_of(const Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()};
}

/// Of exactly 16 bytes.
Uuid uuid_of(const std::string& text) {
  Uuid out;
  std::copy_n(text.begin(), out.bytes.size(), out.bytes.begin());
  return out;
}

std::string range(std::uint32_t oldest, std::uint32_t newest) {
  return std::to_string(oldest) + " to " + std::to_string(newest);
}

Message message_of(HandshakeFrame type, std::uint32_t flags, std::string body) {
  Message out;
  out.header.type = static_cast<std::uint16_t>(type);
  out.header.flags = flags;
  out.header.body_bytes = static_cast<std::uint32_t>(body.size());
  out.body = std::move(body);
  return out;
}

template <class Body>
Status parse(HandshakeFrame type, const FrameHeader& header, Bytes bytes, Body& body) {
  if (header.type != static_cast<std::uint16_t>(type)) {
    return {Code::kCorrupt, "handshake: frame of type " + std::to_string(header.type) + ", not " +
                                std::to_string(static_cast<std::uint16_t>(type))};
  }
  if (!body.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return {Code::kCorrupt, "handshake: the body can't be read"};
  }
  return {};
}

Status foreign(const Uuid& theirs, const Uuid& ours) {
  return {Code::kInvalid, Reason::kForeign,
          "the peer belongs to cluster " + to_string(theirs) + ", this process to " +
              to_string(ours) + "; check the address"};
}

Status denied(const char* who) {
  return {Code::kInvalid, Reason::kDenied,
          std::string(who) + " does not know this cluster's secret; check the secret of both"};
}

}  // namespace

// ---- server -------------------------------------------------------------------------------------

Message ServerHandshake::greeting() const {
  pb::Greeting body;
  body.set_protocol_oldest(identity_.protocol_oldest);
  body.set_protocol_newest(identity_.protocol_newest);
  body.set_cluster(text_of(identity_.cluster));
  body.set_nonce(nonce_);
  return message_of(HandshakeFrame::kGreeting, 0, body.SerializeAsString());
}

ServerHandshake::Outcome ServerHandshake::on_hello(const FrameHeader& header, Bytes body) const {
  std::string proof;
  auto peer = check(header, body, proof);
  if (!peer) {
    Status error = std::move(peer).error();
    Message reply = message_of(HandshakeFrame::kWelcome, kReply | kError, encode_error(error));
    return {std::move(error), std::move(reply), {}};
  }
  pb::Welcome welcome;
  welcome.set_feature_level(identity_.feature_level);
  welcome.set_proof(proof);
  return {{}, message_of(HandshakeFrame::kWelcome, kReply, welcome.SerializeAsString()), *peer};
}

Result<Peer> ServerHandshake::check(const FrameHeader& header, Bytes bytes,
                                    std::string& proof) const {
  pb::Hello body;
  TRY_VOID(parse(HandshakeFrame::kHello, header, bytes, body));
  if (body.protocol() < identity_.protocol_oldest || body.protocol() > identity_.protocol_newest) {
    return fail(Code::kUnsupported, Reason::kVersion,
                "the peer chose protocol " + std::to_string(body.protocol()) +
                    ", this process speaks " +
                    range(identity_.protocol_oldest, identity_.protocol_newest));
  }
  const bool names_cluster = !body.cluster().empty();
  if (names_cluster && body.cluster().size() != sizeof(Uuid::bytes)) {
    return fail(Code::kCorrupt, "handshake: a cluster's UUID has 16 bytes");
  }
  if (names_cluster && uuid_of(body.cluster()) != identity_.cluster) {
    return fail(foreign(uuid_of(body.cluster()), identity_.cluster));
  }
  if (body.role() < static_cast<std::uint32_t>(Role::kClient) ||
      body.role() > static_cast<std::uint32_t>(Role::kMetadata)) {
    return fail(Code::kCorrupt, "handshake: unknown role " + std::to_string(body.role()));
  }
  if (body.nonce().size() != kNonceBytes) {
    return fail(Code::kCorrupt, "handshake: a nonce has " + std::to_string(kNonceBytes) + " bytes");
  }
  const Transcript transcript{body.protocol(),   body.feature_level(),
                              identity_.cluster, static_cast<Role>(body.role()),
                              body.nonce(),      nonce_};
  const std::string expected = make_proof(identity_.secret, ProofSide::kClient, transcript);
  if (!proof_matches(expected, body.proof())) return fail(denied("the peer"));
  proof = make_proof(identity_.secret, ProofSide::kServer, transcript);
  return Peer{transcript.role, transcript.protocol, transcript.feature_level};
}

// ---- client -------------------------------------------------------------------------------------

Result<Message> ClientHandshake::on_greeting(const FrameHeader& header, Bytes bytes) {
  pb::Greeting body;
  TRY_VOID(parse(HandshakeFrame::kGreeting, header, bytes, body));
  const std::uint32_t newest = std::min(identity_.protocol_newest, body.protocol_newest());
  if (newest < std::max(identity_.protocol_oldest, body.protocol_oldest())) {
    return fail(Code::kUnsupported, Reason::kVersion,
                "the server speaks protocols " +
                    range(body.protocol_oldest(), body.protocol_newest()) + ", this process " +
                    range(identity_.protocol_oldest, identity_.protocol_newest) +
                    "; use releases that are one apart at most");
  }
  if (body.cluster().size() != sizeof(Uuid::bytes) || body.nonce().size() != kNonceBytes) {
    return fail(Code::kCorrupt, "handshake: cluster or nonce of a wrong length");
  }
  const Uuid cluster = uuid_of(body.cluster());
  if (!identity_.cluster.is_nil() && cluster != identity_.cluster) {
    return fail(foreign(cluster, identity_.cluster));
  }
  transcript_ = {.protocol = newest,
                 .feature_level = identity_.feature_level,
                 .cluster = cluster,
                 .role = identity_.role,
                 .client_nonce = nonce_,
                 .server_nonce = body.nonce()};
  pb::Hello hello;
  hello.set_protocol(newest);
  hello.set_feature_level(identity_.feature_level);
  hello.set_cluster(text_of(cluster));
  hello.set_role(static_cast<std::uint32_t>(identity_.role));
  hello.set_nonce(nonce_);
  hello.set_proof(make_proof(identity_.secret, ProofSide::kClient, transcript_));
  return message_of(HandshakeFrame::kHello, 0, hello.SerializeAsString());
}

Result<Joined> ClientHandshake::on_welcome(const FrameHeader& header, Bytes bytes) const {
  if ((header.flags & kError) != 0) return fail(decode_error(bytes));
  pb::Welcome body;
  TRY_VOID(parse(HandshakeFrame::kWelcome, header, bytes, body));
  const std::string expected = make_proof(identity_.secret, ProofSide::kServer, transcript_);
  if (!proof_matches(expected, body.proof())) return fail(denied("the server"));
  return Joined{transcript_.cluster, transcript_.protocol, body.feature_level()};
}

}  // namespace cairn::wire

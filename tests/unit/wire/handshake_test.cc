// Who may speak: versions, clusters and secrets, and that a recorded conversation proves nothing.
#include "engine/wire/handshake.h"

#include <gtest/gtest.h>

#include "engine/wire/handshake.pb.h"

namespace cairn::wire {
namespace {

Uuid cluster_of(std::uint8_t first) {
  Uuid out;
  out.bytes[0] = first;
  return out;
}

Identity server_identity() {
  Identity out;
  out.cluster = cluster_of(7);
  out.secret = "open sesame";
  out.feature_level = 3;
  return out;
}
Identity client_identity() {
  Identity out;
  out.secret = "open sesame";
  out.role = Role::kTarget;
  out.feature_level = 4;
  return out;
}
std::string nonce(char c) { return std::string(kNonceBytes, c); }

struct Conversation {
  ServerHandshake server{server_identity(), nonce('s')};
  ClientHandshake client{client_identity(), nonce('c')};

  Result<Message> hello() {
    const Message greeting = server.greeting();
    return client.on_greeting(greeting.header, as_bytes(greeting.body));
  }
  /// A hello that must be made.
  ServerHandshake::Outcome outcome() {
    const Message made = hello().value();
    return server.on_hello(made.header, as_bytes(made.body));
  }
  Result<Joined> joined(const ServerHandshake::Outcome& outcome) {
    return client.on_welcome(outcome.reply.header, as_bytes(outcome.reply.body));
  }
};

TEST(Handshake, TellsBothSidesWhoTheOtherIs) {
  Conversation talk;
  const auto outcome = talk.outcome();
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  EXPECT_EQ(outcome.peer.role, Role::kTarget);
  EXPECT_EQ(outcome.peer.feature_level, 4u);
  const auto joined = talk.joined(outcome);
  ASSERT_TRUE(joined.has_value()) << joined.error().to_string();
  EXPECT_EQ(joined->cluster, cluster_of(7));
  EXPECT_EQ(joined->protocol, kProtocolNewest);
  EXPECT_EQ(joined->feature_level, 3u);
}

TEST(Handshake, FitsIntoWhatAnUnknownPeerMaySend) {
  Conversation talk;
  const auto outcome = talk.outcome();
  for (const Message& message : {talk.server.greeting(), talk.hello().value(), outcome.reply}) {
    EXPECT_EQ(message.header.body_bytes, message.body.size());
    EXPECT_TRUE(decode_frame_header(encode(message.header), kHelloLimits).has_value());
  }
}

TEST(Handshake, RefusesAClientWithoutTheSecretAndTellsIt) {
  Conversation talk;
  Identity stranger = client_identity();
  stranger.secret = "guess";
  talk.client = ClientHandshake(stranger, nonce('c'));
  const auto outcome = talk.outcome();
  EXPECT_EQ(outcome.status.code(), Code::kInvalid);
  EXPECT_EQ(outcome.status.reason(), Reason::kDenied);
  const auto joined = talk.joined(outcome);
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().reason(), Reason::kDenied);
}

TEST(Handshake, RefusesAServerWithoutTheSecret) {
  Conversation talk;
  auto outcome = talk.outcome();
  pb::Welcome welcome;
  welcome.set_proof(std::string(kProofBytes, 'p'));
  outcome.reply.body = welcome.SerializeAsString();
  const auto joined = talk.joined(outcome);
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().reason(), Reason::kDenied);
}

TEST(Handshake, DoesNotTakeTheServersProofForTheClients) {
  Transcript transcript;
  transcript.client_nonce = nonce('c');
  transcript.server_nonce = nonce('s');
  EXPECT_NE(make_proof("s", ProofSide::kClient, transcript),
            make_proof("s", ProofSide::kServer, transcript));
}

TEST(Handshake, ProvesAsTheFormatPageSays) {
  // Golden, made with another library from the words of docs/formats.md.
  const std::string golden =
      "b921ba37821ef19cc684aa2d6e6baf1e"
      "755461c787c11e0bc2bace46fa961d20";
  Conversation talk;
  pb::Hello hello;
  ASSERT_TRUE(hello.ParseFromString(talk.hello().value().body));
  std::string hex;
  for (const char byte : hello.proof()) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    hex += {kDigits[value >> 4], kDigits[value & 15]};
  }
  EXPECT_EQ(hex, golden);
}

TEST(Handshake, RefusesAHelloThatWasRecordedEarlier) {
  Conversation earlier;
  const Message recorded = earlier.hello().value();
  const ServerHandshake later(server_identity(), nonce('t'));
  const auto outcome = later.on_hello(recorded.header, as_bytes(recorded.body));
  EXPECT_EQ(outcome.status.reason(), Reason::kDenied);
}

TEST(Handshake, CoversEverythingThatTheClientSays) {
  Conversation talk;
  const Message made = talk.hello().value();
  pb::Hello hello;
  ASSERT_TRUE(hello.ParseFromString(made.body));
  const auto refused = [&](const pb::Hello& changed) {
    const std::string body = changed.SerializeAsString();
    const auto outcome = talk.server.on_hello(made.header, as_bytes(body));
    return outcome.status.reason() == Reason::kDenied;
  };
  EXPECT_FALSE(refused(hello));
  pb::Hello changed = hello;
  changed.set_role(static_cast<std::uint32_t>(Role::kMetadata));
  EXPECT_TRUE(refused(changed));
  changed = hello;
  changed.set_feature_level(9);
  EXPECT_TRUE(refused(changed));
  changed = hello;
  changed.set_nonce(nonce('d'));
  EXPECT_TRUE(refused(changed));
  changed = hello;
  changed.clear_proof();
  EXPECT_TRUE(refused(changed));
}

TEST(Handshake, NamesBothRangesWhenNoVersionIsShared) {
  Conversation talk;
  Identity newer = client_identity();
  newer.protocol_oldest = 5;
  newer.protocol_newest = 6;
  talk.client = ClientHandshake(newer, nonce('c'));
  const auto hello = talk.hello();
  ASSERT_FALSE(hello.has_value());
  EXPECT_EQ(hello.error().reason(), Reason::kVersion);
  EXPECT_NE(hello.error().message().find("5 to 6"), std::string_view::npos);
  EXPECT_NE(hello.error().message().find("1 to 1"), std::string_view::npos);
}

TEST(Handshake, NamesBothClustersWhenTheAddressIsWrong) {
  Conversation talk;
  Identity elsewhere = client_identity();
  elsewhere.cluster = cluster_of(8);
  talk.client = ClientHandshake(elsewhere, nonce('c'));
  const auto hello = talk.hello();
  ASSERT_FALSE(hello.has_value());
  EXPECT_EQ(hello.error().reason(), Reason::kForeign);
  EXPECT_NE(hello.error().message().find(to_string(cluster_of(7))), std::string_view::npos);
  EXPECT_NE(hello.error().message().find(to_string(cluster_of(8))), std::string_view::npos);
}

TEST(Handshake, RefusesFramesOutOfOrderAndNoise) {
  Conversation talk;
  const Message greeting = talk.server.greeting();
  EXPECT_EQ(talk.server.on_hello(greeting.header, as_bytes(greeting.body)).status.code(),
            Code::kCorrupt);
  const Message made = talk.hello().value();
  const auto noise = talk.server.on_hello(made.header, as_bytes("\xff\xff\xff"));
  EXPECT_EQ(noise.status.code(), Code::kCorrupt);
  EXPECT_EQ(talk.joined(noise).error().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace cairn::wire

// The first three frames of a connection, without any I/O: who speaks to whom, in which version,
// and that both know the cluster's secret.
//
//   server -> client  greeting: protocol range, cluster, nonce
//   client -> server  hello:    protocol chosen, feature level, role, nonce, proof
//   server -> client  welcome:  feature level, proof; or an error, and the connection ends
//
// Until welcome both sides take kHelloLimits only: an unknown peer costs one small buffer.  Called
// by: the connection's coroutines in engine/net, which bring deadlines.  Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/ids.h"
#include "engine/base/status.h"
#include "engine/wire/frame.h"
#include "engine/wire/proof.h"

namespace cairn::wire {

enum class HandshakeFrame : std::uint16_t { kGreeting = 1, kHello = 2, kWelcome = 3 };

/// Protocols that this build speaks.
inline constexpr std::uint32_t kProtocolOldest = 1;
inline constexpr std::uint32_t kProtocolNewest = 1;

/// A whole frame without a payload, to be sent.
struct Message {
  FrameHeader header;
  std::string body;
};

struct Identity {
  Uuid cluster;               ///< nil on a client: whichever cluster answers
  std::string secret;         ///< of the cluster
  Role role = Role::kClient;  ///< of a client
  std::uint32_t feature_level =
      0;  ///< a client's: newest that it can follow; a server's: the cluster's
  std::uint32_t protocol_oldest = kProtocolOldest;
  std::uint32_t protocol_newest = kProtocolNewest;
};

/// What a server knows of its client from now on.
struct Peer {
  Role role = Role::kClient;
  std::uint32_t protocol = 0;
  std::uint32_t feature_level = 0;  ///< newest that it can follow
};

/// What a client knows of its server.
struct Joined {
  Uuid cluster;
  std::uint32_t protocol = 0;
  std::uint32_t feature_level = 0;  ///< of the cluster
};

class ServerHandshake {
 public:
  /// `nonce`: kNonceBytes that nobody can guess.
  ServerHandshake(Identity identity, std::string nonce)
      : identity_(std::move(identity)), nonce_(std::move(nonce)) {}

  Message greeting() const;
  /// OK: `peer` is proven, send `reply` and go on.  Else send `reply` and close; the error is for
  /// the log: kUnsupported (version), kInvalid (foreign): another cluster, kInvalid (denied): no
  /// proof, kCorrupt: no hello.
  struct Outcome {
    Status status;
    Message reply;
    Peer peer;
  };
  Outcome on_hello(const FrameHeader& header, Bytes body) const;

 private:
  Result<Peer> check(const FrameHeader& header, Bytes body, std::string& proof) const;

  Identity identity_;
  std::string nonce_;
};

class ClientHandshake {
 public:
  ClientHandshake(Identity identity, std::string nonce)
      : identity_(std::move(identity)), nonce_(std::move(nonce)) {}

  /// The hello to send.  kUnsupported (version) names both ranges; kInvalid (foreign) both
  /// clusters.
  Result<Message> on_greeting(const FrameHeader& header, Bytes body);
  /// What the server refused with, or kInvalid (denied): it does not know the secret either.
  Result<Joined> on_welcome(const FrameHeader& header, Bytes body) const;

 private:
  Identity identity_;
  std::string nonce_;
  Transcript transcript_;
};

}  // namespace cairn::wire

// How two processes show that they know the cluster's secret without sending it: HMAC-SHA-256 over
// what both said, nonces of both sides in it, so that a recorded proof proves nothing later and a
// proof can't be sent back as one's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/ids.h"

namespace cairn::wire {

inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kProofBytes = 32;

/// What a process asks to be.  Deletes are taken only from kMetadata.
enum class Role : std::uint8_t { kClient = 1, kTarget = 2, kMetadata = 3 };

enum class ProofSide : std::uint8_t { kClient, kServer };

/// What both sides agree on before anything else is believed.
struct Transcript {
  std::uint32_t protocol = 0;
  std::uint32_t feature_level = 0;  ///< that the client asked for
  Uuid cluster;
  Role role = Role::kClient;
  std::string client_nonce;
  std::string server_nonce;
};

std::string make_proof(std::string_view secret, ProofSide side, const Transcript& transcript);
/// In constant time.
bool proof_matches(std::string_view expected, std::string_view proof);

}  // namespace cairn::wire

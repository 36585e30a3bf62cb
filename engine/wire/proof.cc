#include "engine/wire/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "engine/base/bytes.h"
#include "engine/base/check.h"

namespace cairn::wire {

std::string make_proof(std::string_view secret, ProofSide side, const Transcript& transcript) {
  CAIRN_CHECK(transcript.client_nonce.size() == kNonceBytes);
  CAIRN_CHECK(transcript.server_nonce.size() == kNonceBytes);
  // Fixed lengths only, so no two transcripts have one text.
  std::string text(side == ProofSide::kClient ? "cairn client" : "cairn server");
  append_le<std::uint32_t>(text, transcript.protocol);
  append_le<std::uint32_t>(text, transcript.feature_level);
  append_le<std::uint8_t>(text, static_cast<std::uint8_t>(transcript.role));
  text.append(reinterpret_cast<const char*>(transcript.cluster.bytes.data()),
              transcript.cluster.bytes.size());
  text += transcript.client_nonce;
  text += transcript.server_nonce;

  std::string proof(kProofBytes, '\0');
  unsigned int bytes = 0;
  const unsigned char* const made =
      ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
             reinterpret_cast<unsigned char*>(proof.data()), &bytes);
  CAIRN_CHECK(made != nullptr && bytes == kProofBytes);
  return proof;
}

bool proof_matches(std::string_view expected, std::string_view proof) {
  return expected.size() == proof.size() &&
         ::CRYPTO_memcmp(expected.data(), proof.data(), proof.size()) == 0;
}

}  // namespace cairn::wire

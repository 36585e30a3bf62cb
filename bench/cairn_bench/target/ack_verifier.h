// `cairn-bench target DIR --verify FILE`: compares what a target holds with what its writers were
// told.  The judge of the crash tests and of the demo.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cairn_bench/target/ack_journal.h"
#include "engine/store/target_store.h"

namespace cairn::bench {

struct Verdict {
  std::uint64_t acknowledged = 0;  ///< puts that must be there
  std::uint64_t verified = 0;      ///< there, every byte as it was written
  std::uint64_t verified_bytes = 0;
  std::uint64_t lost = 0;               ///< acknowledged, not there or unreadable
  std::uint64_t torn = 0;               ///< served as good with other bytes, acknowledged or not
  std::uint64_t deleted = 0;            ///< acknowledged deletes
  std::uint64_t resurrected = 0;        ///< deleted, there again
  std::uint64_t survivors_whole = 0;    ///< never acknowledged, there as a whole: allowed
  std::uint64_t survivors_suspect = 0;  ///< never acknowledged, answer kCorrupt: allowed
  std::vector<std::string> problems;    ///< one line each, the first few

  bool good() const { return lost == 0 && torn == 0 && resurrected == 0; }
};

/// Checks an open target.  An error: the check itself could not be done.
Task<Result<Verdict>> verify_acks(store::TargetStore& target, const Acks& acks);
/// Opens the target, checks it, closes it.
Task<Result<Verdict>> verify_target(env::Env env, std::string directory, std::string journal);

}  // namespace cairn::bench

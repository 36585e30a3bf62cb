// A target with a journal, a writer that gets killed, and the comparison of the two afterwards.
#pragma once

#include <cstdint>
#include <string>

#include "bench/cairn_bench/target/ack_verifier.h"
#include "bench/cairn_bench/target/child.h"

namespace cairn::crash {

class KilledWriter {
 public:
  /// `journal` lies where no crash reaches it.
  KilledWriter(std::string directory, std::string journal, std::uint64_t seed);

  Status init(store::InitOptions options = {});
  /// A new process with names of its own.
  Result<bench::Child> start();
  /// Opens the target here, compares, closes.
  Result<bench::Verdict> verify() const;
  /// Whether the journal has a delete that was acknowledged; also while a writer runs.
  Result<bool> has_deleted() const;
  /// What the last writer said.
  std::string log() const;

 private:
  std::string directory_;
  std::string journal_;
  std::uint64_t seed_;
  std::uint64_t incarnation_ = 0;
};

/// One line for people.
std::string describe(const bench::Verdict& verdict);

}  // namespace cairn::crash

// How fast one target takes and gives fragments, beside what fio gets from the same device in the
// same minutes: rounds of ours and fio's alternate, so that a device or a neighbour that wanders
// hits both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cairn_bench/target/fio.h"
#include "bench/cairn_bench/target/measure.h"
#include "engine/base/status.h"

namespace cairn::bench {

class ScratchFolder;

struct ThroughputOptions {
  std::uint64_t round_bytes = 0;  ///< each phase of a round; a multiple of the largest fragment
  std::uint32_t rounds = 0;
  std::uint32_t writers = 0;
};

/// One thing measured, once a round.
struct Phase {
  std::string name;
  std::uint64_t fragment_bytes = 0;
  std::uint32_t depth = 0;  ///< requests of 1 MiB in flight, ours at most and fio's always
  std::vector<Rate> ours;
  std::vector<Rate> fio;  ///< empty: not compared, or fio is not installed

  /// Median over the rounds of ours / fio's; 0 without fio.
  double ratio() const;
  /// Median over our rounds of one figure.
  double median_of(double (Rate::*figure)() const) const;
};

struct Throughput {
  std::vector<Phase> phases;

  const Phase& phase(const std::string& name) const;
  /// Median over the rounds of the share of the rate that the index takes.
  double index_cost() const;
};

/// Progress goes to stderr.
Result<Throughput> measure_throughput(const ScratchFolder& scratch, std::optional<Fio>& fio,
                                      const ThroughputOptions& options);

}  // namespace cairn::bench

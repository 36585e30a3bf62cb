// What `cairn-bench target` found: a verdict line for each gate, and JSON with every figure.
#pragma once

#include <optional>
#include <string>

#include "bench/cairn_bench/target/restart.h"
#include "bench/cairn_bench/target/throughput.h"

namespace cairn::bench {

struct TargetResult {
  std::string directory;
  ThroughputOptions options;
  std::string fio_version;  ///< empty: fio is not installed
  Throughput throughput;
  std::optional<Restart> restart;
};

/// One promise of docs/benchmarks.md and how this run compares.
struct Gate {
  std::string name;
  std::string unit;
  double value = 0;
  double limit = 0;
  bool at_least = false;  ///< value >= limit, else value <= limit

  bool ok() const { return at_least ? value >= limit : value <= limit; }
};

/// Gates against fio are left out when it is not installed.
std::vector<Gate> gates(const TargetResult& result);
/// To standard output.
void print_table(const TargetResult& result);
void print_json(const TargetResult& result);

}  // namespace cairn::bench

// fio beside us: what the device gives to a program that does nothing else, measured in the same
// run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/cairn_bench/target/measure.h"
#include "engine/base/status.h"

namespace cairn::bench {

class Fio {
 public:
  /// nullopt when fio is not installed.  Works in `folder`, which exists.
  static std::optional<Fio> find(const std::string& folder);

  /// Writes a fresh preallocated file of `bytes` in 1 MiB requests, `depth` in flight, by io_uring
  /// with O_DIRECT, and syncs it at the end.
  Result<Rate> write(std::uint64_t bytes, std::uint32_t depth);
  /// Reads what write() wrote last.
  Result<Rate> read(std::uint64_t bytes, std::uint32_t depth);
  const std::string& version() const { return version_; }

 private:
  Result<Rate> run(const std::string& direction, std::uint64_t bytes, std::uint32_t depth);

  std::string folder_;
  std::string version_;
};

}  // namespace cairn::bench

// Runs many damages, each on a fresh copy of a target, in child processes: a case that dies is a
// finding of its own and not the end of the test.
//
// Belongs into the program itself, which exports its symbols: it brings the __assert_fail that
// RocksDB calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/crash/damaged_target.h"

namespace cairn::crash {

struct DamageReport {
  std::uint64_t findings = 0;  ///< wrong answers; each was printed to standard error
  std::uint64_t asserted = 0;  ///< cases that ended in an assertion inside RocksDB: loud, so fine
  std::vector<std::string> deaths;  ///< cases that killed their process in any other way
};

/// @param pristine  folder of a stopped target
/// @param work      folder for the copies
DamageReport run_damages(const std::vector<Damage>& damages, const std::string& pristine,
                         const std::string& work);

}  // namespace cairn::crash

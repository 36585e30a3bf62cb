// How many seeds a random test runs, and how a failing one is run again.
//
//   --seed=N    or CAIRN_SEED=N         only this one
//   --seeds=N   or CAIRN_SIM_SEEDS=N    exactly so many (soak)
//   otherwise      CAIRN_SIM_SECONDS of them (default 20), at least CAIRN_SIM_SEEDS_MIN (300)
//
// A seed that ends the process (a failed CAIRN_CHECK, a sanitizer) is named too.
#pragma once

#include <cstdint>
#include <functional>

namespace cairn::sim {

/// Calls `run(seed)` for seed after seed inside a gtest; stops at the first that records a failure
/// and prints how to repeat it.  Prints how many ran.  `share` divides the time and the floor
/// between the tests of one program.
void for_each_seed(const std::function<void(std::uint64_t seed)>& run, std::uint32_t share = 1);

/// Whether one seed was asked for: then what only many seeds show together is not to be expected.
bool replaying_one_seed();

}  // namespace cairn::sim

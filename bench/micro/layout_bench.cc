// locate and choose_targets: nanoseconds per call.
//   build/release/bin/layout_bench
#include <benchmark/benchmark.h>

#include <vector>

#include "engine/base/random.h"
#include "engine/layout/geometry.h"
#include "engine/layout/placement.h"

namespace cairn::layout {
namespace {

void locate_random(benchmark::State& state) {
  const Geometry g{static_cast<std::uint8_t>(state.range(0)), 2,
                   static_cast<std::uint32_t>(kUnitBytesDefault), 64 * kMiB - 12345};
  SplitMix64 random(1);
  for (auto _ : state) benchmark::DoNotOptimize(locate(g, random.below(g.object_bytes)));
}
BENCHMARK(locate_random)->Arg(4)->Arg(8);

void place_object(benchmark::State& state) {
  std::vector<Candidate> candidates;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(state.range(0)); ++i) {
    Candidate c;
    c.target = i + 1;
    c.domain = i / 4;
    c.free_bytes = (i % 7 + 1) * 100 * kGiB;
    candidates.push_back(c);
  }
  PlacementRequest request;
  request.count = 6;
  request.fragment_bytes = 16 * kMiB;
  for (auto _ : state) {
    ++request.seed;
    benchmark::DoNotOptimize(choose_targets(candidates, request));
  }
}
BENCHMARK(place_object)->Arg(24)->Arg(240)->Arg(2400);

}  // namespace
}  // namespace cairn::layout

BENCHMARK_MAIN();

// How many events a second the simulator runs: the bare scheduler, and a device operation with its
// fault choices, image and trace.  Every seed of every simulation test is made of these.
//   build/release/bin/sim_bench
#include <benchmark/benchmark.h>

#include <array>

#include "engine/base/check.h"
#include "tests/sim/support/disk.h"
#include "tests/sim/support/process.h"
#include "tests/sim/support/scheduler.h"

namespace cairn::sim {
namespace {

void count_events(benchmark::State& state, const SimScheduler& scheduler) {
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(scheduler.events()), benchmark::Counter::kIsRate);
}

Task<void> sleep_often(SimScheduler& scheduler, int times) {
  for (int i = 0; i < times; ++i) co_await scheduler.sleep(std::chrono::microseconds(1 + i % 7));
}

void run_timers(benchmark::State& state) {
  SimScheduler scheduler(1);
  for (auto _ : state) scheduler.run(sleep_often(scheduler, 1000));
  count_events(state, scheduler);
}
BENCHMARK(run_timers);

Task<void> write_pages(env::BlockDevice& device, Bytes page, int times) {
  const auto file = co_await device.open("/d/f", env::DeviceOpen::kReadWrite, 0);
  CAIRN_CHECK(file.has_value());
  for (int i = 0; i < times; ++i) {
    const auto at = static_cast<std::uint64_t>(i % 256) * kPageBytes;
    const int written = co_await device.write_at(*file, at, page);
    CAIRN_CHECK(written == static_cast<int>(page.size()));
  }
  const int flushed = co_await device.flush(*file);
  CAIRN_CHECK(flushed == 0);
  device.close(*file);
}

Task<void> create_file(env::BlockDevice& device) {
  const auto file = co_await device.open("/d/f", env::DeviceOpen::kCreate, kMiB);
  CAIRN_CHECK(file.has_value());
  device.close(*file);
}

void run_device_writes(benchmark::State& state) {
  SimScheduler scheduler(1);
  SimDisk disk(scheduler);
  disk.add_directory("/d");
  SimProcess process(disk);
  env::BlockDevice& device = process.env().device;
  alignas(kPageBytes) static const std::array<std::byte, kPageBytes> page{};
  scheduler.run(create_file(device));
  for (auto _ : state) scheduler.run(write_pages(device, page, 1000));
  count_events(state, scheduler);
}
BENCHMARK(run_device_writes);

}  // namespace
}  // namespace cairn::sim

BENCHMARK_MAIN();

#include "bench/cairn_bench/target/restart.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "bench/cairn_bench/target/bench_target.h"
#include "bench/cairn_bench/target/child.h"
#include "bench/cairn_bench/target/scratch_folder.h"

namespace cairn::bench {
namespace {

constexpr std::uint64_t kSmallObject = 8 * kKiB;
/// Enough that the flushes of many puts are shared.
constexpr std::uint32_t kFillers = 128;
constexpr std::uint32_t kStarts = 3;
constexpr std::uint32_t kKills = 5;
constexpr std::uint64_t kLoadObject = 8 * kMiB;
constexpr std::uint32_t kLoadWriters = 4;
/// From its first acknowledgement to the kill.
constexpr std::chrono::milliseconds kLoadTime{1500};

Status fill(const std::string& directory, std::uint64_t fragments) {
  const AlignedBuffer payload(kSmallObject);
  TRY(const auto target, BenchTarget::make(directory, true));
  const auto objects = make_objects(1, fragments, kSmallObject, payload.memory());
  TRY(const Rate rate, target->write(objects, payload.memory(), kFillers));
  std::fprintf(stderr, "  filled in %.1f s, %.0f fragments/s\n", rate.seconds,
               static_cast<double>(fragments) / rate.seconds);
  return {};
}

/// From nothing to the first verified read.
Result<double> start(const std::string& directory, std::uint64_t& live_bytes) {
  const AlignedBuffer buffer(kSmallObject);
  const Stopwatch watch;
  TRY(const auto target, BenchTarget::open(directory));
  FragmentName first;
  first.object = {1, 1};
  TRY_VOID(target->host().run(get_verified(target->store(), first, buffer.memory())));
  const double seconds = watch.seconds();
  live_bytes = target->store().info().live_bytes;
  return seconds;
}

/// The child says a line once its first put is acknowledged.
Status wait_for_load(Child& child, const std::string& output) {
  for (int i = 0; i < 6000; ++i) {
    if (std::FILE* file = std::fopen(output.c_str(), "r")) {
      const bool started = std::fgetc(file) != EOF;
      std::fclose(file);
      if (started) return {};
    }
    if (!child.running()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {Code::kIo, "the writer under load did not start; its output is in " + output};
}

Status kill_under_load(const std::string& directory, const std::string& program,
                       const std::string& output) {
  TRY(Child child,
      Child::start({{program, "target", directory, "--load"}, output, 0, std::nullopt}));
  TRY_VOID(wait_for_load(child, output));
  std::this_thread::sleep_for(kLoadTime);
  if (!child.running()) return {Code::kIo, "the writer ended by itself; see " + output};
  child.kill(SIGKILL);
  while (!child.wait(std::chrono::seconds(1))) {
  }
  return {};
}

/// What earlier runs left behind: the device must not fill up.
Task<Status> remove_loads(store::TargetStore* store) {
  FragmentName last_filled;
  last_filled.object = {1, UINT64_MAX};
  for (;;) {
    CO_TRY(const auto page, store->list(last_filled, kDeleteBatchMax));
    if (page.empty()) co_return Status();
    std::vector<FragmentName> names;
    for (const store::FragmentInfo& info : page) names.push_back(info.name);
    CO_TRY_VOID(co_await store->delete_fragments(std::move(names), Epoch{}));
  }
}

Task<Status> load(store::TargetStore* store, Bytes payload, std::uint64_t incarnation,
                  std::uint64_t first, bool* said) {
  for (std::uint64_t counter = first;; counter += kLoadWriters) {
    FragmentName name;
    name.object = {incarnation, counter};
    const Object object = make_object(name, payload.size(), payload);
    CO_TRY_VOID(co_await put_object(*store, object, payload));
    if (*said) continue;
    *said = true;
    std::puts("loading");
    std::fflush(stdout);
  }
}

Task<Status> load_all(env::Env env, store::TargetStore* store, Bytes payload) {
  CO_TRY_VOID(co_await remove_loads(store));
  // Each run has names of its own.
  const auto incarnation = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(env.clock.wall_now().time_since_epoch())
          .count());
  bool said = false;
  TaskGroup writers(env.executor);
  for (std::uint32_t i = 0; i < kLoadWriters; ++i) {
    writers.spawn(load(store, payload, incarnation, i + 1, &said));
  }
  co_return co_await writers.join();
}

}  // namespace

Result<Restart> measure_restart(const ScratchFolder& scratch, const std::string& program,
                                std::uint64_t fragments) {
  const std::string directory = scratch.path() + "/restart";
  std::fprintf(stderr, "restart: filling a target with %llu fragments\n",
               static_cast<unsigned long long>(fragments));
  TRY_VOID(fill(directory, fragments));
  Restart result;
  result.fragments = fragments;
  std::uint64_t live_bytes = 0;
  for (std::uint32_t i = 0; i < kStarts; ++i) {
    TRY(const double seconds, start(directory, live_bytes));
    std::fprintf(stderr, "  after a stop: %.3f s\n", seconds);
    result.stopped_s.push_back(seconds);
  }
  for (std::uint32_t i = 0; i < kKills; ++i) {
    TRY_VOID(kill_under_load(directory, program, scratch.path() + "/load.log"));
    TRY(const double seconds, start(directory, live_bytes));
    std::fprintf(stderr, "  after a kill under load: %.3f s, %s live\n", seconds,
                 format_bytes(live_bytes).c_str());
    result.killed_s.push_back(seconds);
    result.load_bytes.push_back(live_bytes);
  }
  scratch.remove("restart");
  return result;
}

Status load_until_killed(const std::string& directory) {
  const AlignedBuffer payload(kLoadObject);
  TRY(const auto target, BenchTarget::open(directory));
  return target->host().run(load_all(target->host().env(), &target->store(), payload.memory()));
}

}  // namespace cairn::bench

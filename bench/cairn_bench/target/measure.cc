#include "bench/cairn_bench/target/measure.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>

#include "engine/base/units.h"

namespace cairn::bench {
namespace {

double to_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double per_gib(double seconds, std::uint64_t bytes) {
  return bytes > 0 ? seconds / (static_cast<double>(bytes) / static_cast<double>(kGiB)) : 0;
}

double process_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime);
}

}  // namespace

double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Rate& Rate::operator+=(const Rate& other) {
  bytes += other.bytes;
  seconds += other.seconds;
  cpu_seconds += other.cpu_seconds;
  copy_cpu_seconds += other.copy_cpu_seconds;
  return *this;
}

double Rate::mib_per_s() const {
  return seconds > 0 ? static_cast<double>(bytes) / static_cast<double>(kMiB) / seconds : 0;
}

double Rate::cpu_s_per_gib() const { return per_gib(cpu_seconds, bytes); }

double Rate::copy_cpu_s_per_gib() const { return per_gib(copy_cpu_seconds, bytes); }

Stopwatch::Stopwatch()
    : begin_(std::chrono::steady_clock::now()), cpu_begin_(process_cpu_seconds()) {}

double Stopwatch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

Rate Stopwatch::rate(std::uint64_t bytes) const {
  return {.bytes = bytes, .seconds = seconds(), .cpu_seconds = process_cpu_seconds() - cpu_begin_};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace cairn::bench

#include "tests/sim/support/faults.h"

#include <cerrno>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "tests/sim/support/file_image.h"

namespace cairn::sim {

const char* to_string(SimOperation operation) {
  static constexpr const char* kNames[] = {
      "open",           "read",           "write",      "flush",      "punch",       "truncate",
      "make_directory", "list",           "file_read",  "replace",    "overwrite",   "reserve",
      "remove",         "sync_directory", "store_open", "store_read", "store_write", "store_sync"};
  static_assert(std::size(kNames) == kSimOperations);
  return kNames[index_of(operation)];
}

std::uint64_t SimDiskStats::total() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t some : operations) sum += some;
  return sum;
}

void SimFaults::fail(SimOperation operation, std::uint64_t skip, int error, std::uint64_t times) {
  CAIRN_CHECK(error > 0 && times > 0);
  planned_.push_back({operation, skip, times, -error});
}

void SimFaults::shorten(SimOperation operation, std::uint64_t skip, std::uint64_t bytes) {
  planned_.push_back({operation, skip, 1, static_cast<int>(bytes)});
}

void SimFaults::clear() {
  planned_.clear();
  plan_ = nullptr;
  options_.error_one_in = {};
  options_.short_one_in = options_.read_flip_one_in = options_.no_descriptors_one_in = 0;
}

std::optional<int> SimFaults::planned(const SimFaultPoint& point) {
  for (auto fault = planned_.begin(); fault != planned_.end(); ++fault) {
    if (fault->operation != point.operation) continue;
    if (fault->skip > 0) {
      --fault->skip;
      continue;
    }
    const int result = fault->result;
    if (fault->times != kForever && --fault->times == 0) planned_.erase(fault);
    return result;
  }
  return std::nullopt;
}

std::optional<int> SimFaults::by_chance(const SimFaultPoint& point) {
  const bool transfers =
      point.operation == SimOperation::kRead || point.operation == SimOperation::kWrite;
  const bool opens = point.operation == SimOperation::kOpen ||
                     point.operation == SimOperation::kList ||
                     point.operation == SimOperation::kFileRead;
  if (chance(options_.error_one_in[index_of(point.operation)])) return -EIO;
  if (opens && chance(options_.no_descriptors_one_in)) return -EMFILE;
  if (transfers && point.length > kPageBytes && chance(options_.short_one_in)) {
    // Mostly whole pages, sometimes whole sectors, as direct I/O may answer.
    const std::uint64_t grain = random_.one_in(4) ? kSectorBytes : kPageBytes;
    return static_cast<int>(grain * random_.between(1, point.length / grain - 1));
  }
  return std::nullopt;
}

std::optional<int> SimFaults::decide(const SimFaultPoint& point) {
  ++stats_.operations[index_of(point.operation)];
  std::optional<int> result = planned(point);
  if (!result && plan_) result = plan_(point);
  if (!result) result = by_chance(point);
  if (!result) return std::nullopt;
  if (*result < 0) {
    ++stats_.errors[index_of(point.operation)];
  } else {
    ++stats_.shortened;
  }
  return result;
}

env::Duration SimFaults::latency(std::uint64_t bytes) {
  const SimLatency& by = options_.latency;
  env::Duration total = by.min;
  if (by.spread.count() > 0) {
    total += env::Duration(random_.below(static_cast<std::uint64_t>(by.spread.count())));
  }
  if (by.bytes_per_second > 0) {
    total += env::Duration(bytes * 1'000'000'000 / by.bytes_per_second);
  }
  if (chance(by.tail_one_in) && by.tail_max.count() > 0) {
    total += env::Duration(random_.below(static_cast<std::uint64_t>(by.tail_max.count())));
  }
  return total;
}

}  // namespace cairn::sim

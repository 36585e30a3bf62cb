// What a simulated disk does wrong, and how long it takes: options by chance, faults planned one by
// one, and counts of what really happened, so that a test can assert that its fault took place.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/units.h"
#include "engine/env/clock.h"

namespace cairn::sim {

enum class SimOperation : std::uint8_t {
  kOpen,
  kRead,
  kWrite,
  kFlush,
  kPunch,
  kTruncate,
  kMakeDirectory,
  kList,
  kFileRead,
  kReplace,
  kOverwrite,
  kReserve,
  kRemove,
  kSyncDirectory,
  kStoreOpen,
  kStoreRead,
  kStoreWrite,
  kStoreSync,
  kCount,
};
inline constexpr std::size_t kSimOperations = static_cast<std::size_t>(SimOperation::kCount);
constexpr std::size_t index_of(SimOperation operation) {
  return static_cast<std::size_t>(operation);
}
const char* to_string(SimOperation operation);

/// An operation takes min + [0, spread) + bytes / rate; one in `tail_one_in` takes up to `tail_max`
/// on top, so operations overtake each other.
struct SimLatency {
  env::Duration min = std::chrono::microseconds(20);
  env::Duration spread = std::chrono::microseconds(180);
  std::uint64_t bytes_per_second = 2'000'000'000;
  std::uint32_t tail_one_in = 40;
  env::Duration tail_max = std::chrono::milliseconds(50);
};

/// `..._one_in`: the chance of each operation is 1 in that many; 0 is never.
struct SimDiskOptions {
  std::uint64_t capacity_bytes = 1024 * kGiB;
  SimLatency latency;
  std::array<std::uint32_t, kSimOperations> error_one_in{};  ///< -EIO
  std::uint32_t short_one_in = 0;      ///< reads and writes that do part of their work
  std::uint32_t read_flip_one_in = 0;  ///< reads that return one wrong bit; the medium is right
  std::uint32_t no_descriptors_one_in = 0;  ///< opens, lists and file reads that get EMFILE
  std::uint32_t descriptors_max = 1 << 20;  ///< open device files of one process
  std::uint64_t store_write_needs_bytes =
      0;  ///< a key-value write is kNoSpace below this much free

  void set_error(SimOperation operation, std::uint32_t one_in) {
    error_one_in[index_of(operation)] = one_in;
  }
};

struct SimDiskStats {
  std::array<std::uint64_t, kSimOperations> operations{};
  std::array<std::uint64_t, kSimOperations> errors{};  ///< injected, of every errno
  std::uint64_t shortened = 0;
  std::uint64_t no_space = 0;
  std::uint64_t flipped_reads = 0;
  std::uint64_t misplaced_reads = 0;
  std::uint64_t crashes = 0, kills = 0;
  // What crashes decided about changes that were not durable.
  std::uint64_t kept_changes = 0, torn_changes = 0, lost_changes = 0;
  std::uint64_t kept_names = 0, lost_names = 0;
  std::uint64_t kept_batches = 0, lost_batches = 0;
  std::uint64_t settled_in_flight = 0;  ///< operations in flight that took effect all the same
  std::uint64_t dropped_by_flush = 0;   ///< changes that a failed flush will never make durable

  std::uint64_t count(SimOperation operation) const { return operations[index_of(operation)]; }
  /// Of all kinds.  A test that ends a process at such a number, not at a time, finds it at work.
  std::uint64_t total() const;
  std::uint64_t failed(SimOperation operation) const { return errors[index_of(operation)]; }
};

struct SimFaultPoint {
  SimOperation operation;
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class SimFaults {
 public:
  static constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();
  /// nullopt lets the operation be; negative is -errno, otherwise the bytes a transfer is cut to.
  using Plan = std::function<std::optional<int>(const SimFaultPoint&)>;

  SimFaults(SimDiskOptions& options, SimDiskStats& stats, SplitMix64 random)
      : options_(options), stats_(stats), random_(random) {}

  /// After `skip` more operations of this kind, `times` of them fail with `error` (positive errno).
  void fail(SimOperation operation, std::uint64_t skip, int error, std::uint64_t times = 1);
  /// After `skip` more operations of this kind, one moves only `bytes`.
  void shorten(SimOperation operation, std::uint64_t skip, std::uint64_t bytes);
  void set_plan(Plan plan) { plan_ = std::move(plan); }
  /// No faults from here on, of any source.  Overlays of the disk stay.
  void clear();

  /// Counts the operation and says what happens to it (as Plan).  Called once for each.
  std::optional<int> decide(const SimFaultPoint& point);
  /// How long an operation over `bytes` takes.
  env::Duration latency(std::uint64_t bytes);
  SplitMix64& random() { return random_; }

 private:
  struct Planned {
    SimOperation operation;
    std::uint64_t skip;
    std::uint64_t times;
    int result;
  };
  std::optional<int> planned(const SimFaultPoint& point);
  std::optional<int> by_chance(const SimFaultPoint& point);
  bool chance(std::uint32_t one_in) { return one_in != 0 && random_.one_in(one_in); }

  SimDiskOptions& options_;
  SimDiskStats& stats_;
  SplitMix64 random_;
  std::vector<Planned> planned_;
  Plan plan_;
};

}  // namespace cairn::sim

#include "engine/io/fault_device.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/base/limits.h"
#include "engine/base/units.h"

namespace cairn::io {
namespace {

/// A plan's value >= 0 shortens writes and reads; the other operations have nothing to shorten and
/// go on to the device.
class FaultDevice final : public env::BlockDevice {
 public:
  FaultDevice(env::BlockDevice& inner, FaultPlan plan) : inner_(inner), plan_(std::move(plan)) {}

  Task<Result<env::DeviceFile>> open(std::string path, env::DeviceOpen mode,
                                     std::uint64_t allocate_bytes) override {
    const auto verdict = decide(DeviceOperation::kOpen, 0, allocate_bytes);
    if (verdict && *verdict < 0) co_return fail(status_from_errno(-*verdict, "open " + path));
    co_return co_await inner_.open(std::move(path), mode, allocate_bytes);
  }

  void close(env::DeviceFile file) override { inner_.close(file); }

  Task<int> write_at(env::DeviceFile file, std::uint64_t offset, Bytes data) override {
    const auto verdict = decide(DeviceOperation::kWrite, offset, data.size());
    if (!verdict) co_return co_await inner_.write_at(file, offset, data);
    if (*verdict <= 0) co_return *verdict;
    const std::uint64_t moved = transferred(*verdict, data.size());
    const int result = co_await inner_.write_at(file, offset, data.first(moved));
    co_return std::min(result, *verdict);
  }

  Task<int> read_at(env::DeviceFile file, std::uint64_t offset, MutableBytes into) override {
    const auto verdict = decide(DeviceOperation::kRead, offset, into.size());
    if (!verdict) co_return co_await inner_.read_at(file, offset, into);
    if (*verdict <= 0) co_return *verdict;
    const std::uint64_t moved = transferred(*verdict, into.size());
    const int result = co_await inner_.read_at(file, offset, into.first(moved));
    co_return std::min(result, *verdict);
  }

  Task<int> flush(env::DeviceFile file) override {
    const auto verdict = decide(DeviceOperation::kFlush, 0, 0);
    if (verdict && *verdict < 0) co_return *verdict;
    co_return co_await inner_.flush(file);
  }

  Task<int> punch(env::DeviceFile file, std::uint64_t offset, std::uint64_t length) override {
    const auto verdict = decide(DeviceOperation::kPunch, offset, length);
    if (verdict && *verdict < 0) co_return *verdict;
    co_return co_await inner_.punch(file, offset, length);
  }

  Task<int> truncate(env::DeviceFile file, std::uint64_t length) override {
    const auto verdict = decide(DeviceOperation::kTruncate, 0, length);
    if (verdict && *verdict < 0) co_return *verdict;
    co_return co_await inner_.truncate(file, length);
  }

  std::int64_t next_data(env::DeviceFile file, std::uint64_t from) override {
    return inner_.next_data(file, from);
  }
  Result<std::uint64_t> file_bytes(env::DeviceFile file) override {
    return inner_.file_bytes(file);
  }
  std::unique_ptr<env::RegisteredMemory> register_memory(MutableBytes memory) override {
    return inner_.register_memory(memory);
  }

 private:
  std::optional<int> decide(DeviceOperation operation, std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t number = counts_[static_cast<std::size_t>(operation)]++;
    return plan_(FaultPoint{operation, number, offset, length});
  }

  /// A short result inside a page still moves whole pages: direct I/O can't do less, and a device
  /// may have done more than it reports.
  static std::uint64_t transferred(int verdict, std::uint64_t length) {
    return std::min(length, round_up(static_cast<std::uint64_t>(verdict), kPageBytes));
  }

  env::BlockDevice& inner_;
  FaultPlan plan_;
  std::array<std::uint64_t, static_cast<std::size_t>(DeviceOperation::kTruncate) + 1> counts_{};
};

}  // namespace

std::unique_ptr<env::BlockDevice> make_fault_device(env::BlockDevice& inner, FaultPlan plan) {
  return std::make_unique<FaultDevice>(inner, std::move(plan));
}

}  // namespace cairn::io

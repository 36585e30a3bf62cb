// A device that fails on command: wraps another one, for tests and for rehearsing a dying disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/env/device.h"

namespace cairn::io {

enum class DeviceOperation : std::uint8_t { kOpen, kWrite, kRead, kFlush, kPunch, kTruncate };

struct FaultPoint {
  DeviceOperation operation;
  std::uint64_t number;  ///< how many of this kind came before it
  std::uint64_t offset;
  std::uint64_t length;
};

/// Decides one operation's result: nullopt passes it on; a value >= 0 shortens a transfer to that
/// many bytes (really transferred); a negative one is returned as -errno without touching the
/// device.
using FaultPlan = std::function<std::optional<int>(const FaultPoint&)>;

/// `inner` outlives the wrapper.
std::unique_ptr<env::BlockDevice> make_fault_device(env::BlockDevice& inner, FaultPlan plan);

}  // namespace cairn::io

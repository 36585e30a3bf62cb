// Whole transfers over a device whose results may be short.  The only loop over short results.
#pragma once

#include <cstdint>

#include "engine/env/device.h"

namespace cairn::io {

/// Writes all of `data` or says why not.  Resubmits the rest after a short result; a result of 0 is
/// an error.  Alignment as BlockDevice::write_at.  An error of the device is kIo, ENOSPC kNoSpace.
Task<Status> write_fully(env::BlockDevice& device, env::DeviceFile file, std::uint64_t offset,
                         Bytes data);
/// Fills all of `into`.  The end of the file before that is kCorrupt: the caller knew the length.
Task<Status> read_fully(env::BlockDevice& device, env::DeviceFile file, std::uint64_t offset,
                        MutableBytes into);
/// Fills what there is before the end of the file; the bytes read.
Task<Result<std::uint64_t>> read_up_to(env::BlockDevice& device, env::DeviceFile file,
                                       std::uint64_t offset, MutableBytes into);
Task<Status> flush(env::BlockDevice& device, env::DeviceFile file);

}  // namespace cairn::io

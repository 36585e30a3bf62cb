#include "engine/io/transfer.h"

#include <cerrno>
#include <string>
#include <string_view>

#include "engine/base/limits.h"
#include "engine/base/units.h"

namespace cairn::io {
namespace {

/// Results in a row that brought nothing new before a transfer gives up.  A device that answers
/// with less than a page makes no aligned progress; a healthy one never does that twice.
constexpr int kStalledResultsMax = 8;

std::string describe(std::string_view verb, env::DeviceFile file, std::uint64_t offset,
                     std::uint64_t length) {
  return std::string(verb) + " of " + std::to_string(length) + " bytes at offset " +
         std::to_string(offset) + " of device file " + std::to_string(file.value);
}

/// What the caller of a transfer can do about -errno.  Everything that is not clearly something
/// else is the device's failure: that is the safe side, since kIo fails a target.
Status device_error(int result, const std::string& what) {
  switch (-result) {
    case ENOSPC:
    case EDQUOT:
    case EAGAIN:
    case ECANCELED:
      return status_from_errno(-result, what);
    default:
      return {Code::kIo, std::string(status_from_errno(-result, what).message())};
  }
}

}  // namespace

Task<Status> write_fully(env::BlockDevice& device, env::DeviceFile file, std::uint64_t offset,
                         Bytes data) {
  std::uint64_t done = 0;
  int stalled = 0;
  while (done < data.size()) {
    const Bytes rest = data.subspan(done);
    const int result = co_await device.write_at(file, offset + done, rest);
    if (result < 0) {
      co_return device_error(result, describe("write", file, offset + done, rest.size()));
    }
    if (result == 0) {
      co_return Status(Code::kIo, describe("write", file, offset + done, rest.size()) +
                                      ": the device took nothing");
    }
    CAIRN_CHECK(static_cast<std::uint64_t>(result) <= rest.size());
    // Direct I/O goes on at a page: the part of a page that was written is written again.
    const std::uint64_t advance = static_cast<std::uint64_t>(result) == rest.size()
                                      ? rest.size()
                                      : round_down(static_cast<std::uint64_t>(result), kPageBytes);
    stalled = advance == 0 ? stalled + 1 : 0;
    if (stalled > kStalledResultsMax) {
      co_return Status(Code::kIo, describe("write", file, offset + done, rest.size()) +
                                      ": the device takes less than a page each time");
    }
    done += advance;
  }
  co_return Status();
}

Task<Result<std::uint64_t>> read_up_to(env::BlockDevice& device, env::DeviceFile file,
                                       std::uint64_t offset, MutableBytes into) {
  std::uint64_t reached = 0;  // bytes of `into` that are filled
  int stalled = 0;
  while (reached < into.size()) {
    const std::uint64_t start = round_down(reached, kPageBytes);
    const MutableBytes rest = into.subspan(start);
    const int result = co_await device.read_at(file, offset + start, rest);
    if (result < 0) {
      co_return fail(device_error(result, describe("read", file, offset + start, rest.size())));
    }
    CAIRN_CHECK(static_cast<std::uint64_t>(result) <= rest.size());
    const std::uint64_t end = start + static_cast<std::uint64_t>(result);
    if (end > reached) {
      reached = end;
      stalled = 0;
      continue;
    }
    // Nothing new is the end of the file only if the file says so; else the result was just short.
    CO_TRY(const std::uint64_t file_bytes, device.file_bytes(file));
    if (offset + reached >= file_bytes) break;
    if (++stalled > kStalledResultsMax) {
      co_return fail(Code::kIo, describe("read", file, offset + start, rest.size()) +
                                    ": the device gives nothing before the end of the file");
    }
  }
  co_return reached;
}

Task<Status> read_fully(env::BlockDevice& device, env::DeviceFile file, std::uint64_t offset,
                        MutableBytes into) {
  CO_TRY(const std::uint64_t got, co_await read_up_to(device, file, offset, into));
  if (got < into.size()) {
    co_return Status(Code::kCorrupt, describe("read", file, offset, into.size()) +
                                         ": the file ends after " + std::to_string(got) +
                                         " of them");
  }
  co_return Status();
}

Task<Status> flush(env::BlockDevice& device, env::DeviceFile file) {
  const int result = co_await device.flush(file);
  if (result < 0) {
    co_return device_error(result, "flush of device file " + std::to_string(file.value));
  }
  co_return Status();
}

}  // namespace cairn::io

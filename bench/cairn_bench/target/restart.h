// How long a target with many fragments takes from start to serving: after an orderly stop, and
// after a SIGKILL while four writers keep the device busy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace cairn::bench {

class ScratchFolder;

struct Restart {
  std::uint64_t fragments = 0;
  std::vector<double> stopped_s;          ///< one for each start after an orderly stop
  std::vector<double> killed_s;           ///< one for each start after a kill
  std::vector<std::uint64_t> load_bytes;  ///< live on the target at each start after a kill
};

/// `program` is this executable: it is started again as the writer that gets killed.
Result<Restart> measure_restart(const ScratchFolder& scratch, const std::string& program,
                                std::uint64_t fragments);

/// The writer that gets killed: deletes what earlier ones left, then puts 8 MiB fragments into the
/// target in `directory` until the process dies.  Returns only on an error.
Status load_until_killed(const std::string& directory);

}  // namespace cairn::bench

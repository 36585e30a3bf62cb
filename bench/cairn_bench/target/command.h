// `cairn-bench target DIR`: its options, and which scenario they mean.
#pragma once

#include "engine/base/status.h"

namespace CLI {
class App;
}

namespace cairn::bench {

enum ExitStatus : int {
  kExitOk = 0,
  kExitError = 1,
  kExitUsage = 2,
  kExitMissed =
      3,  ///< a gate was missed (--gate), or acknowledged bytes are lost or torn (--verify)
};

/// One line on stderr; kExitError.
int report_error(const Status& error);
/// Adds the command; the exit status lands in `outcome`, which outlives the parsing.
void add_target_command(CLI::App& app, int& outcome);

}  // namespace cairn::bench

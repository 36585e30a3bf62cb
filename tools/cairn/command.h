// The command line of `cairn`: what its commands share.  A command declares its options and leaves
// its exit status in `outcome`; parsing, help and errors look the same for all.
//
// Thread: main's.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace CLI {
class App;
}

namespace cairn::cli {

enum ExitStatus : int {
  kExitOk = 0,
  kExitError = 1,
  kExitUsage = 2,
  kExitDamaged = 3,  ///< scrub found fragments that fail their hashes
};

/// What every command takes.
struct CommonOptions {
  std::string directory;
  bool json = false;
};

/// Parses, runs one command, prints; the process's exit status.
int run_command_line(int argc, char** argv);

/// Adds DIR and --json to `command`.
void add_common_options(CLI::App& command, CommonOptions& options);
/// One line on stderr; kExitError.
int report_error(const Status& error);

// Each adds one command under `cairn target`; `outcome` outlives the parsing.
void add_target_init(CLI::App& target, int& outcome);
void add_target_inspect(CLI::App& target, int& outcome);
void add_target_scrub(CLI::App& target, int& outcome);
void add_target_rebuild_index(CLI::App& target, int& outcome);

}  // namespace cairn::cli

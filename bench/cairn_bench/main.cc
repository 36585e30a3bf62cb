// `cairn-bench`: how fast Cairn is, on the devices at hand.  A subcommand for each thing measured.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "bench/cairn_bench/target/command.h"
#include "engine/base/log.h"
#include "engine/platform/platform.h"

int main(int argc, char** argv) {
  cairn::platform::ignore_sigpipe();
  cairn::set_log_level(cairn::LogLevel::kWarn);
  CLI::App app("Measures Cairn.  Progress goes to stderr, results to stdout.", "cairn-bench");
  app.set_version_flag("--version", "cairn-bench " CAIRN_VERSION, "Print the version");
  app.require_subcommand(1);
  int outcome = cairn::bench::kExitOk;
  cairn::bench::add_target_command(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    std::string message = wrong.what();
    std::ranges::replace(message, '\n', ' ');
    std::cerr << "cairn-bench: " << message << "; see --help\n";
    return cairn::bench::kExitUsage;
  }
  return outcome;
}

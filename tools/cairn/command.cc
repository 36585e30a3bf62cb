#include "tools/cairn/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "engine/base/log.h"

namespace cairn::cli {
namespace {

constexpr const char* kExitStatusHelp =
    "Exit status: 0 done; 1 an error, told in one line on stderr; 2 wrong use; 3 damage was found "
    "(scrub).";

/// "target init" for messages: the deepest command that was named.
std::string chosen_command(const CLI::App& app) {
  std::string path;
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += ' ' + at->get_name();
  }
  return path;
}

int usage_error(const CLI::App& app, std::string message) {
  std::ranges::replace(message, '\n', ' ');
  while (message.ends_with(' ')) message.pop_back();
  std::cerr << "cairn: " << message << "; see `cairn" << chosen_command(app) << " --help`\n";
  return kExitUsage;
}

}  // namespace

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_option("DIR", options.directory, "The target's folder")->required();
  command.add_flag("--json", options.json, "Print one JSON object instead of a table");
}

int report_error(const Status& error) {
  std::cerr << "cairn: " << error.to_string() << '\n';
  return kExitError;
}

int run_command_line(int argc, char** argv) {
  CLI::App app("Cairn: a parallel checkpoint storage engine.", "cairn");
  app.footer(kExitStatusHelp);
  app.set_version_flag("--version", "cairn " CAIRN_VERSION, "Print the version");
  app.require_subcommand(1);
  bool verbose = false;
  app.add_flag("-v,--verbose", verbose, "Log what the engine does, on stderr");
  app.parse_complete_callback(
      [&verbose] { set_log_level(verbose ? LogLevel::kDebug : LogLevel::kWarn); });

  int outcome = kExitOk;
  CLI::App& target = *app.add_subcommand("target", "One storage target: a folder on one device");
  target.require_subcommand(1);
  target.footer(kExitStatusHelp);
  add_target_init(target, outcome);
  add_target_inspect(target, outcome);
  add_target_scrub(target, outcome);
  add_target_rebuild_index(target, outcome);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    return usage_error(app, wrong.what());
  }
  if (!std::cout.flush()) {
    return report_error(Status(Code::kIo, "the result could not be written to standard output"));
  }
  return outcome;
}

}  // namespace cairn::cli

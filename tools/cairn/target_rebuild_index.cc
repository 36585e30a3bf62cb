// `cairn target rebuild-index DIR`: a new index from the fragments' own headers.
#include <CLI/CLI.hpp>
#include <memory>

#include "engine/store/target_store.h"
#include "server/host/target_host.h"
#include "tools/cairn/command.h"
#include "tools/cairn/report.h"

namespace cairn::cli {
namespace {

Result<store::RebuildReport> rebuild(const CommonOptions& arguments) {
  TRY(const auto host, server::TargetHost::make());
  return host->run(store::rebuild_index(host->env(), arguments.directory));
}

int run(const CommonOptions& arguments) {
  const auto rebuilt = rebuild(arguments);
  if (!rebuilt) return report_error(rebuilt.error());
  Report report;
  report.text("directory", "directory", arguments.directory);
  report.number("segments", "segments", rebuilt->segments);
  report.number("fragments", "fragments", rebuilt->fragments);
  report.bytes("fragment_bytes", "fragment bytes", rebuilt->fragment_bytes);
  report.number("unverified", "unverified", rebuilt->unverified);
  report.print(arguments.json);
  return kExitOk;
}

}  // namespace

void add_target_rebuild_index(CLI::App& target, int& outcome) {
  auto arguments = std::make_shared<CommonOptions>();
  CLI::App& command = *target.add_subcommand(
      "rebuild-index",
      "Throws the index away and makes a new one from the fragments' own headers; reads all data.  "
      "For a target that refuses to open because its index is damaged or older than its "
      "superblock.  May be run again after an interruption.");
  add_common_options(command, *arguments);
  command.footer(
      "A fragment whose data fails its hashes is kept and answers `corrupt` (unverified).  "
      "Fragments that had been deleted shortly before may be back; the collector removes them.\n"
      "JSON keys: directory, segments, fragments, fragment_bytes, unverified.");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace cairn::cli

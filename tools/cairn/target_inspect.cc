// `cairn target inspect DIR`: what a target says about itself, without opening it.
#include <CLI/CLI.hpp>
#include <memory>

#include "engine/store/target_store.h"
#include "server/host/target_host.h"
#include "tools/cairn/command.h"
#include "tools/cairn/report.h"

namespace cairn::cli {
namespace {

Result<store::TargetInfo> inspect(const CommonOptions& arguments) {
  TRY(const auto host, server::TargetHost::make());
  return host->run(store::inspect_target(host->env(), arguments.directory));
}

int run(const CommonOptions& arguments) {
  const auto info = inspect(arguments);
  if (!info) return report_error(info.error());
  const char* const state = info->expelled ? "expelled" : info->failed ? "failed" : "ok";
  Report report;
  report.text("directory", "directory", arguments.directory);
  report.text("target", "target", to_string(info->target));
  report.text("cluster", "cluster", to_string(info->cluster));
  report.text("pool", "pool", info->pool);
  report.text("state", "state", state);
  report.text("failure", "failure", info->failure);
  report.number("epoch", "epoch", info->epoch.value);
  report.number("metadata_mark", "metadata mark", info->metadata_mark.value);
  report.bytes("capacity_bytes", "capacity", info->capacity_bytes);
  report.bytes("free_bytes", "free", info->free_bytes);
  report.number("fragments", "fragments", info->fragments);
  report.bytes("live_bytes", "live", info->live_bytes);
  report.number("segments", "segments", info->segments);
  report.bytes("segment_bytes", "segment size", info->segment_bytes);
  report.number("dead_extents", "dead extents", info->dead_extents);
  report.number("index_commit", "index commit", info->index_commit);
  report.print(arguments.json);
  return kExitOk;
}

}  // namespace

void add_target_inspect(CLI::App& target, int& outcome) {
  auto arguments = std::make_shared<CommonOptions>();
  CLI::App& command = *target.add_subcommand(
      "inspect",
      "Shows what a target says about itself.  Reads only: works beside a running server, which "
      "may be ahead of what is shown, and on a target that refuses to open.");
  add_common_options(command, *arguments);
  command.footer(
      "JSON keys: directory, target, cluster, pool, state (ok, failed, expelled), failure, epoch, "
      "metadata_mark, capacity_bytes, free_bytes, fragments, live_bytes, segments, segment_bytes, "
      "dead_extents (deleted, blocks not given back yet), index_commit.");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace cairn::cli

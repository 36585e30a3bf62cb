// `cairn target init DIR`: makes a target of an empty or missing folder.
#include <CLI/CLI.hpp>
#include <memory>

#include "engine/store/target_store.h"
#include "server/host/target_host.h"
#include "tools/cairn/command.h"
#include "tools/cairn/report.h"

namespace cairn::cli {
namespace {

struct InitArguments : CommonOptions {
  std::string cluster;
  std::string pool = "capacity";
  std::string capacity;
  std::string segment;
};

Result<store::InitOptions> to_options(const InitArguments& arguments) {
  store::InitOptions options;
  options.pool = arguments.pool;
  if (!arguments.cluster.empty()) {
    TRY(options.cluster, parse_uuid(arguments.cluster));
  }
  if (!arguments.capacity.empty()) {
    TRY(options.capacity_bytes, parse_bytes(arguments.capacity));
  }
  if (!arguments.segment.empty()) {
    TRY(options.segment_bytes, parse_bytes(arguments.segment));
  }
  return options;
}

Result<store::TargetInfo> init(const InitArguments& arguments, store::InitOptions options) {
  TRY(const auto host, server::TargetHost::make());
  TRY_VOID(host->run(store::init_target(host->env(), arguments.directory, std::move(options))));
  return host->run(store::inspect_target(host->env(), arguments.directory));
}

int run(const InitArguments& arguments) {
  auto options = to_options(arguments);
  if (!options) {
    report_error(options.error());
    return kExitUsage;
  }
  const auto info = init(arguments, *std::move(options));
  if (!info) return report_error(info.error());
  Report report;
  report.text("directory", "directory", arguments.directory);
  report.text("target", "target", to_string(info->target));
  report.text("cluster", "cluster", to_string(info->cluster));
  report.text("pool", "pool", info->pool);
  report.bytes("capacity_bytes", "capacity", info->capacity_bytes);
  report.bytes("free_bytes", "free", info->free_bytes);
  report.bytes("segment_bytes", "segment size", info->segment_bytes);
  report.print(arguments.json);
  return kExitOk;
}

}  // namespace

void add_target_init(CLI::App& target, int& outcome) {
  auto arguments = std::make_shared<InitArguments>();
  CLI::App& command = *target.add_subcommand(
      "init",
      "Makes a target of DIR, which is empty or does not exist yet.  Refuses a folder that is a "
      "target already or holds other files, and changes nothing then.");
  add_common_options(command, *arguments);
  command.add_option("--cluster", arguments->cluster,
                     "The cluster it belongs to, a UUID (default: a new random one)");
  command.add_option("--pool", arguments->pool, "Its pool: fast or capacity (default: capacity)")
      ->check(CLI::IsMember({"fast", "capacity"}));
  command.add_option("--capacity", arguments->capacity,
                     "What it may take of the device, for example 500GB or 1TiB (default: the "
                     "whole file system)");
  command.add_option("--segment", arguments->segment,
                     "Size of its segment files, at most 1GiB (default: capacity/64, at least "
                     "80MiB, at most 1GiB)");
  command.footer(
      "JSON keys: directory, target, cluster, pool, capacity_bytes, free_bytes, segment_bytes.");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace cairn::cli

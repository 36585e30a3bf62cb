// `cairn target scrub DIR`: reads every fragment and compares it with its writer's hashes.
#include <CLI/CLI.hpp>
#include <memory>

#include "engine/store/target_store.h"
#include "server/host/target_host.h"
#include "tools/cairn/command.h"
#include "tools/cairn/report.h"

namespace cairn::cli {
namespace {

struct ScrubTotals {
  std::uint64_t fragments = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged_total = 0;
  std::vector<store::ScrubReport::Damage> damaged;
};

/// In pages, so that memory stays bounded whatever the target holds.
Task<Result<ScrubTotals>> scrub_all(store::TargetStore& target) {
  ScrubTotals totals;
  store::ScrubOptions options;
  options.fragments_max = kListPageMax;
  for (;;) {
    CO_TRY(store::ScrubReport page, co_await target.scrub(options));
    totals.fragments += page.fragments;
    totals.bytes += page.bytes;
    totals.damaged_total += page.damaged_total;
    for (auto& damage : page.damaged) {
      if (totals.damaged.size() < kListPageMax) totals.damaged.push_back(std::move(damage));
    }
    if (!page.last) co_return totals;
    options.after = *page.last;
  }
}

Task<Result<ScrubTotals>> scrub(env::Env env, std::string directory) {
  store::StoreOptions options;
  options.directory = std::move(directory);
  CO_TRY(const auto target, co_await store::TargetStore::open(env, options));
  auto totals = co_await scrub_all(*target);
  Status closed = co_await target->close();
  // A target that has failed is still worth a scrub; its state is not this command's news.
  if (closed.reason() == Reason::kTargetFailed) closed = Status();
  if (totals && !closed.ok()) co_return fail(std::move(closed));
  co_return totals;
}

Result<ScrubTotals> scrub(const CommonOptions& arguments) {
  TRY(const auto host, server::TargetHost::make());
  return host->run(scrub(host->env(), arguments.directory));
}

int run(const CommonOptions& arguments) {
  const auto totals = scrub(arguments);
  if (!totals) return report_error(totals.error());
  std::vector<Row> damaged;
  for (const auto& damage : totals->damaged) {
    damaged.push_back({{"name", to_string(damage.name)},
                       {"code", std::string(to_string(damage.code))},
                       {"message", damage.message}});
  }
  Report report;
  report.text("directory", "directory", arguments.directory);
  report.number("fragments", "fragments", totals->fragments);
  report.bytes("bytes", "bytes", totals->bytes);
  report.number("damaged_fragments", "damaged", totals->damaged_total);
  report.list("damaged", "damaged:", std::move(damaged));
  report.print(arguments.json);
  return totals->damaged_total == 0 ? kExitOk : kExitDamaged;
}

}  // namespace

void add_target_scrub(CLI::App& target, int& outcome) {
  auto arguments = std::make_shared<CommonOptions>();
  CLI::App& command = *target.add_subcommand(
      "scrub",
      "Reads every fragment and compares it with the hashes that its writer made.  The target "
      "must not be served by another process meanwhile.");
  add_common_options(command, *arguments);
  command.footer(
      "Exit status 3: damage was found.\n"
      "JSON keys: directory, fragments, bytes, damaged_fragments, damaged (a list of name, code, "
      "message; the first 4096).");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace cairn::cli

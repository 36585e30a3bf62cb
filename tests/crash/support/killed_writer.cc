#include "tests/crash/support/killed_writer.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "engine/base/log.h"
#include "server/host/target_host.h"

namespace cairn::crash {

KilledWriter::KilledWriter(std::string directory, std::string journal, std::uint64_t seed)
    : directory_(std::move(directory)), journal_(std::move(journal)), seed_(seed) {
  set_log_level(LogLevel::kError);  // what a crash leaves behind is no news here
}

Status KilledWriter::init(store::InitOptions options) {
  std::ofstream(journal_).flush();
  TRY(const auto host, server::TargetHost::make());
  return host->run(store::init_target(host->env(), directory_, std::move(options)));
}

Result<bench::Child> KilledWriter::start() {
  ++incarnation_;
  bench::ChildOptions options;
  options.command = {CAIRN_CRASH_WRITER, directory_, journal_, std::to_string(incarnation_),
                     std::to_string(seed_ + incarnation_)};
  options.output = journal_ + ".log";
  return bench::Child::start(std::move(options));
}

Result<bench::Verdict> KilledWriter::verify() const {
  TRY(const auto host, server::TargetHost::make());
  return host->run(bench::verify_target(host->env(), directory_, journal_));
}

Result<bool> KilledWriter::has_deleted() const {
  TRY(const bench::Acks acks, bench::read_acks(journal_));
  return std::ranges::any_of(
      acks, [](const auto& each) { return each.second.state == bench::AckState::kDeleted; });
}

std::string KilledWriter::log() const {
  std::ifstream in(journal_ + ".log");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string describe(const bench::Verdict& verdict) {
  std::ostringstream out;
  out << verdict.verified << " of " << verdict.acknowledged << " verified, " << verdict.lost
      << " lost, " << verdict.torn << " torn, " << verdict.resurrected << " of " << verdict.deleted
      << " deleted came back, survivors " << verdict.survivors_whole << " whole "
      << verdict.survivors_suspect << " suspect";
  for (const std::string& problem : verdict.problems) out << "\n  " << problem;
  return out.str();
}

}  // namespace cairn::crash

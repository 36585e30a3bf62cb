#include "bench/cairn_bench/target/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "bench/cairn_bench/target/ack_verifier.h"
#include "bench/cairn_bench/target/ack_writer.h"
#include "bench/cairn_bench/target/result.h"
#include "bench/cairn_bench/target/scratch_folder.h"
#include "server/host/target_host.h"

namespace cairn::bench {
namespace {

constexpr std::uint64_t kLargestFragment = 8 * kMiB;
/// Segments that are preallocated and not full, of both targets.
constexpr std::uint64_t kPreallocated = 2 * kGiB;
constexpr std::uint64_t kRestartDataBytes =
    16 * kKiB;  // each small fragment: a page of header, too
/// What the writer under load puts before it is killed, at most.
constexpr std::uint64_t kLoadBytes = 8 * kGiB;

struct Arguments {
  std::string directory;
  bool json = false;
  std::string bytes = "4GiB";
  std::uint32_t rounds = 5;
  std::uint32_t writers = 4;
  std::uint64_t restart_fragments = 100'000;
  bool gate = false;
  std::string tree;
  std::string acks;
  std::uint64_t incarnation = 0;
  std::string object = "8MiB";
  bool repeat = false;
  std::string verify;
  bool load = false;
};

// ---- the benchmark ------------------------------------------------------------------------------

Status check_space(const std::string& directory, std::uint64_t needed) {
  std::error_code error;
  const auto space = std::filesystem::space(directory, error);
  if (error) return status_from_errno(error.value(), "statfs " + directory);
  if (space.available >= needed) return {};
  return {Code::kNoSpace, directory + " has " + format_bytes(space.available) +
                              " free, this run needs " + format_bytes(needed) +
                              "; choose another folder, or less with --bytes or "
                              "--restart-fragments 0"};
}

Result<TargetResult> measure(const Arguments& arguments) {
  TRY(const std::uint64_t bytes, parse_bytes(arguments.bytes));
  TargetResult result;
  result.directory = arguments.directory;
  result.options = {round_up(divide_up(bytes, arguments.rounds), kLargestFragment),
                    arguments.rounds, arguments.writers};
  const std::uint64_t throughput_bytes = 3 * result.options.round_bytes + kPreallocated;
  const std::uint64_t restart_bytes =
      arguments.restart_fragments == 0
          ? 0
          : arguments.restart_fragments * kRestartDataBytes + kLoadBytes + kPreallocated;
  TRY(const auto scratch, ScratchFolder::make(arguments.directory));
  TRY_VOID(check_space(arguments.directory, std::max(throughput_bytes, restart_bytes)));

  std::optional<Fio> fio = Fio::find(scratch->path());
  if (fio) result.fio_version = fio->version();
  TRY(result.throughput, measure_throughput(*scratch, fio, result.options));
  if (arguments.restart_fragments > 0) {
    TRY(result.restart, measure_restart(*scratch, "/proc/self/exe", arguments.restart_fragments));
  }
  return result;
}

int run_benchmark(const Arguments& arguments) {
  const auto result = measure(arguments);
  if (!result) return report_error(result.error());
  arguments.json ? print_json(*result) : print_table(*result);
  bool met = true;
  for (const Gate& gate : gates(*result)) met = met && gate.ok();
  return arguments.gate && !met ? kExitMissed : kExitOk;
}

// ---- the writer that is made to be killed, and its judge ----------------------------------------

Result<AckWriterTotals> write_acknowledged(const Arguments& arguments) {
  AckWriterOptions options;
  options.directory = arguments.directory;
  options.tree = arguments.tree;
  options.journal = arguments.acks;
  options.incarnation = arguments.incarnation;
  TRY(options.object_bytes, parse_bytes(arguments.object));
  if (options.object_bytes == 0 || options.object_bytes > kObjectBytesMax) {
    return fail(Code::kInvalid, "--object is " + arguments.object +
                                    "; it must be at least 1 B and at most " +
                                    format_bytes(kObjectBytesMax));
  }
  options.writers = arguments.writers;
  options.repeat = arguments.repeat;
  TRY(const auto host, server::TargetHost::make());
  return host->run(write_tree(host->env(), std::move(options)));
}

int run_writer(const Arguments& arguments) {
  const auto totals = write_acknowledged(arguments);
  if (!totals) return report_error(totals.error());
  const double mib_per_s = Rate{totals->bytes, totals->seconds, 0}.mib_per_s();
  const char* const format =
      arguments.json ? "{\"files\": %llu, \"skipped\": %llu, \"fragments\": %llu, \"bytes\": %llu, "
                       "\"seconds\": %.3f, \"mib_per_s\": %.1f}\n"
                     : "files      %llu\nskipped    %llu\nfragments  %llu\nbytes      %llu\n"
                       "seconds    %.3f\nMiB/s      %.1f\n";
  std::printf(format, static_cast<unsigned long long>(totals->files),
              static_cast<unsigned long long>(totals->skipped),
              static_cast<unsigned long long>(totals->fragments),
              static_cast<unsigned long long>(totals->bytes), totals->seconds, mib_per_s);
  return kExitOk;
}

Result<Verdict> verify(const Arguments& arguments) {
  TRY(const auto host, server::TargetHost::make());
  return host->run(verify_target(host->env(), arguments.directory, arguments.verify));
}

int run_verifier(const Arguments& arguments) {
  const auto verdict = verify(arguments);
  if (!verdict) return report_error(verdict.error());
  for (const std::string& problem : verdict->problems) {
    std::fprintf(stderr, "cairn-bench: %s\n", problem.c_str());
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  if (arguments.json) {
    std::printf(
        "{\"acknowledged\": %llu, \"verified\": %llu, \"verified_bytes\": %llu, \"lost\": %llu, "
        "\"torn\": %llu, \"deleted\": %llu, \"resurrected\": %llu, \"survivors_whole\": %llu, "
        "\"survivors_suspect\": %llu}\n",
        number(verdict->acknowledged), number(verdict->verified), number(verdict->verified_bytes),
        number(verdict->lost), number(verdict->torn), number(verdict->deleted),
        number(verdict->resurrected), number(verdict->survivors_whole),
        number(verdict->survivors_suspect));
  } else {
    std::printf("%llu acknowledged fragments, %llu verified (%s): %llu lost, %llu torn\n",
                number(verdict->acknowledged), number(verdict->verified),
                format_bytes(verdict->verified_bytes).c_str(), number(verdict->lost),
                number(verdict->torn));
    std::printf("%llu acknowledged deletes, %llu came back\n", number(verdict->deleted),
                number(verdict->resurrected));
    std::printf(
        "%llu fragments were there that nobody was told of: %llu whole, %llu answer "
        "corrupt\n",
        number(verdict->survivors_whole + verdict->survivors_suspect),
        number(verdict->survivors_whole), number(verdict->survivors_suspect));
  }
  return verdict->good() ? kExitOk : kExitMissed;
}

int run(const Arguments& arguments) {
  if (arguments.load) return report_error(load_until_killed(arguments.directory));
  if (!arguments.verify.empty()) return run_verifier(arguments);
  if (!arguments.tree.empty()) return run_writer(arguments);
  return run_benchmark(arguments);
}

}  // namespace

int report_error(const Status& error) {
  std::fprintf(stderr, "cairn-bench: %s\n", error.to_string().c_str());
  return kExitError;
}

void add_target_command(CLI::App& app, int& outcome) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command = *app.add_subcommand(
      "target",
      "One storage target on the device of DIR.  Without --from or --verify: how fast it writes, "
      "reads and restarts, beside fio on the same device in the same run, in a fresh subfolder of "
      "DIR that is removed afterwards.");
  command.add_option("DIR", arguments->directory, "A folder; for --from and --verify a target")
      ->required();
  command.add_flag("--json", arguments->json, "Print one JSON object with every figure");
  command
      .add_option("--writers", arguments->writers, "Fragments being written at once (default: 4)")
      ->check(CLI::Range(1, 256));

  const std::string speed = "Benchmark";
  command
      .add_option("--bytes", arguments->bytes,
                  "Bytes of each phase, all rounds together (default: 4GiB)")
      ->group(speed);
  command
      .add_option("--rounds", arguments->rounds, "Rounds that alternate with fio's (default: 5)")
      ->check(CLI::Range(1, 100))
      ->group(speed);
  command
      .add_option("--restart-fragments", arguments->restart_fragments,
                  "Fragments of 8 KiB on the target that is restarted; 0: leave restarts out "
                  "(default: 100000)")
      ->check(CLI::Range(0, 10'000'000))
      ->group(speed);
  command.add_flag("--gate", arguments->gate, "Exit status 3 when a gate is missed")->group(speed);

  const std::string acknowledged = "Acknowledged writes";
  CLI::Option* from =
      command
          .add_option("--from", arguments->tree,
                      "Write the bytes of this directory tree to the target DIR as fragments")
          ->check(CLI::ExistingDirectory)
          ->group(acknowledged);
  CLI::Option* acks = command
                          .add_option("--acks", arguments->acks,
                                      "Append a line for each acknowledged fragment to this file")
                          ->needs(from)
                          ->group(acknowledged);
  from->needs(acks);
  command.add_option("--object", arguments->object, "Bytes of a fragment, at most (default: 8MiB)")
      ->needs(from)
      ->group(acknowledged);
  command
      .add_option("--incarnation", arguments->incarnation,
                  "First half of the fragments' names (default: the time in microseconds)")
      ->needs(from)
      ->group(acknowledged);
  command
      .add_flag("--repeat", arguments->repeat, "Start over at the end of the tree, until killed")
      ->needs(from)
      ->group(acknowledged);
  command
      .add_option("--verify", arguments->verify,
                  "Read every fragment that this file says was acknowledged and compare")
      ->check(CLI::ExistingFile)
      ->excludes(from)
      ->group(acknowledged);
  command.add_flag("--load", arguments->load)->group("");  // the child that gets killed

  command.footer(
      "Exit status: 0 done; 1 an error; 2 wrong use; 3 a gate was missed (--gate), or acknowledged "
      "bytes are lost or torn, or deleted ones came back (--verify).\n"
      "CPU seconds are those of this process with its kernel workers; a put's payload is copied "
      "once, in place of the server's socket.");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace cairn::bench

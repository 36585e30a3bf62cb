// The EIO rule on a real device: writes fail from some moment on, below a real file system.  The
// target fails once and for good, and nothing that it ever acknowledged is lost by it.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "engine/base/random.h"
#include "server/host/target_host.h"
#include "tests/crash/support/failing_device.h"
#include "tests/crash/support/killed_writer.h"
#include "tests/crash/support/loop_fs.h"
#include "tests/crash/support/work_folder.h"

namespace cairn::crash {
namespace {

constexpr std::uint64_t kFsBytes = 768 * kMiB;
/// Of the first failing write until the writer has ended: flushes and a mark every second.
constexpr std::chrono::seconds kEndLimit{60};

/// How many writes fail: all, as with a device that is gone, or some, which is when a careless
/// retry would succeed.
constexpr std::uint32_t kPercents[] = {100, 30, 3};

std::uint64_t count(const std::string& text, const std::string& what) {
  std::uint64_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
  return found;
}

/// Of all rounds together: a run in which nothing happened shows nothing.
struct Totals {
  std::uint64_t acknowledged = 0;
  std::uint64_t remembered = 0;
  std::uint64_t errors = 0;
};

/// A failed target answers reads as before; only its close says again that it has failed.
Task<Result<bench::Verdict>> verify_though_failed(env::Env env, std::string directory,
                                                  std::string journal) {
  CO_TRY(const bench::Acks acks, bench::read_acks(journal));
  store::StoreOptions options;
  options.directory = std::move(directory);
  CO_TRY(const auto target, co_await store::TargetStore::open(env, options));
  auto verdict = co_await bench::verify_acks(*target, acks);
  Status closed = co_await target->close();
  if (closed.reason() == Reason::kTargetFailed) closed = Status();
  if (verdict && !closed.ok()) co_return fail(std::move(closed));
  closed.ignore();  // else the first error is the one to tell
  co_return verdict;
}

class Round {
 public:
  Round(std::string folder, SplitMix64& random)
      : folder_(std::move(folder)),
        random_(random),
        percent_(kPercents[random.below(std::size(kPercents))]),
        writer_(target(), folder_ + "/journal", random.next()) {}

  void run(Totals& totals) {
    SCOPED_TRACE(std::to_string(percent_) + "% of writes fail");
    ASSERT_NO_FATAL_FAILURE(make());
    ASSERT_NO_FATAL_FAILURE(write_until_it_fails());
    // What does a restart on the failing device make of it?
    if (random_.one_in(2)) {
      ASSERT_NO_FATAL_FAILURE(write_again());
    }
    ASSERT_NO_FATAL_FAILURE(mend(random_.one_in(2)));
    ASSERT_NO_FATAL_FAILURE(judge(totals));
  }

 private:
  std::string target() const { return folder_ + "/mount/target"; }

  void make() {
    std::filesystem::create_directory(folder_);
    auto device = FailingDevice::make(folder_, kFsBytes, percent_);
    ASSERT_TRUE(device) << device.error().to_string();
    device_ = *std::move(device);
    auto fs = LoopFs::make_on(device_->file(), folder_, "ext4");
    ASSERT_TRUE(fs) << fs.error().to_string();
    fs_ = *std::move(fs);
    const Status limited = fs_->limit_requests(FailingDevice::kRequestBytesMax);
    ASSERT_TRUE(limited.ok()) << limited.to_string();
    const Status made = writer_.init();
    ASSERT_TRUE(made.ok()) << made.to_string();
  }

  void write_until_it_fails() {
    auto child = writer_.start();
    ASSERT_TRUE(child) << child.error().to_string();
    const auto early = child->wait(std::chrono::milliseconds(random_.between(100, 1500)));
    ASSERT_FALSE(early) << "the writer ended by itself with status " << *early << ":\n"
                        << writer_.log();
    Status on = device_->start_errors();
    ASSERT_TRUE(on.ok()) << on.to_string();
    const auto ended = child->wait(kEndLimit);
    ASSERT_TRUE(ended) << "the writer goes on on a device that fails:\n" << writer_.log();
    const std::string log = writer_.log();
    if (!expect_loud_end(*ended)) return;
    EXPECT_EQ(count(log, "the target has failed"), 1U) << "it fails once:\n" << log;
  }

  /// An error, or an assertion of RocksDB, which Debian builds with them on: loud too.  False: it
  /// asserted.
  bool expect_loud_end(int status) const {
    const std::string log = writer_.log();
    const bool asserted =
        status == 128 + SIGABRT && count(log, "rocksdb::") > 0 && count(log, "Assertion") > 0;
    EXPECT_TRUE(asserted || status == 1) << "status " << status << ":\n" << log;
    return !asserted;
  }

  /// Puts and deletes that the writers were told of, not what they asked for.
  std::uint64_t acknowledgements() const {
    std::ifstream in(folder_ + "/journal");
    std::uint64_t found = 0;
    for (std::string line; std::getline(in, line);) {
      if (line.find(R"("op":"deleting")") == std::string::npos) ++found;
    }
    return found;
  }

  void write_again() {
    const bool remembered = is_failed();
    const std::uint64_t before = acknowledgements();
    auto child = writer_.start();
    ASSERT_TRUE(child) << child.error().to_string();
    const auto ended = child->wait(kEndLimit);
    ASSERT_TRUE(ended) << "the writer goes on on a device that fails:\n" << writer_.log();
    expect_loud_end(*ended);
    // Failed for good; what it could not write down it can't know.
    if (remembered) {
      EXPECT_EQ(acknowledgements(), before) << "a failed target acknowledged something";
    }
  }

  /// The device works again, by which time the file system may have given up already.
  void mend(bool while_mounted) {
    const auto stop = [this] {
      Status off = device_->stop_errors();
      ASSERT_TRUE(off.ok()) << off.to_string();
    };
    if (while_mounted) {
      ASSERT_NO_FATAL_FAILURE(stop());
    }
    Status unmounted = fs_->unmount();
    ASSERT_TRUE(unmounted.ok()) << unmounted.to_string();
    if (!while_mounted) {
      ASSERT_NO_FATAL_FAILURE(stop());
    }
    Status checked = fs_->preen();
    ASSERT_TRUE(checked.ok()) << checked.to_string();
    Status mounted = fs_->mount();
    ASSERT_TRUE(mounted.ok()) << mounted.to_string();
  }

  void judge(Totals& totals) {
    const bool remembered = is_failed();
    auto host = server::TargetHost::make();
    ASSERT_TRUE(host) << host.error().to_string();
    const auto verdict =
        (*host)->run(verify_though_failed((*host)->env(), target(), folder_ + "/journal"));
    ASSERT_TRUE(verdict) << verdict.error().to_string();
    EXPECT_TRUE(verdict->good()) << describe(*verdict);
    std::cerr << percent_ << "% of writes failed, " << device_->errors()
              << " in all, the superblock " << (remembered ? "says so: " : "does not say so: ")
              << describe(*verdict) << '\n';
    totals.acknowledged += verdict->acknowledged;
    totals.remembered += remembered ? 1 : 0;
    totals.errors += device_->errors();
  }

  /// By the superblock, as `cairn target inspect` shows it.
  bool is_failed() const {
    auto host = server::TargetHost::make();
    EXPECT_TRUE(host) << host.error().to_string();
    if (!host) return false;
    const auto info = (*host)->run(store::inspect_target((*host)->env(), target()));
    EXPECT_TRUE(info) << info.error().to_string();
    return info && info->failed;
  }

  std::string folder_;
  SplitMix64& random_;
  std::uint32_t percent_;
  KilledWriter writer_;
  std::unique_ptr<FailingDevice> device_;
  std::unique_ptr<LoopFs> fs_;
};

TEST(TargetOnAFailingDevice, FailsOnceAndKeepsWhatItAcknowledged) {
  const std::uint64_t rounds = number_from_environment("CAIRN_EIO_ROUNDS", 5);
  for (const std::string& reason : {LoopFs::unavailable("ext4"), FailingDevice::unavailable()}) {
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  const std::uint64_t seed = seed_from_environment();
  const WorkFolder work;
  SplitMix64 random(seed);
  Totals totals;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Round(work / std::to_string(round), random).run(totals);
    if (HasFailure()) return;
    std::filesystem::remove_all(work / std::to_string(round));
  }
  EXPECT_GT(totals.acknowledged, 0U) << "no put was ever acknowledged: this run shows nothing";
  EXPECT_GE(totals.errors, rounds) << "writes did not fail: this run shows nothing";
}

}  // namespace
}  // namespace cairn::crash

// I1, I6, I7 over power cuts: the file system is shut down under the writer without flushing its
// journal, as a power cut leaves it, and mounted again.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "engine/base/random.h"
#include "tests/crash/support/killed_writer.h"
#include "tests/crash/support/loop_fs.h"
#include "tests/crash/support/work_folder.h"

namespace cairn::crash {
namespace {

constexpr std::uint64_t kFsBytes = 1536 * kMiB;

TEST(TargetWithoutPower, KeepsEveryAcknowledgedByteAndNoDeletedOne) {
  const std::uint64_t cuts = number_from_environment("CAIRN_POWER_CUTS", 20);
  const char* const wanted = std::getenv("CAIRN_POWER_CUT_FS");
  const std::string type = wanted == nullptr || *wanted == '\0' ? "ext4" : wanted;
  if (const std::string reason = LoopFs::unavailable(type); !reason.empty()) GTEST_SKIP() << reason;
  const std::uint64_t seed = seed_from_environment();
  const WorkFolder work;
  SplitMix64 random(seed);
  auto fs = LoopFs::make(work.path(), type, kFsBytes);
  ASSERT_TRUE(fs) << fs.error().to_string();
  // The journal is on another file system: the cut does not reach it.
  KilledWriter writer((*fs)->mount_point() + "/target", work / "journal", seed);
  const Status made = writer.init();
  ASSERT_TRUE(made.ok()) << made.to_string();

  bench::Verdict last;
  for (std::uint64_t cut = 1; cut <= cuts; ++cut) {
    auto child = writer.start();
    ASSERT_TRUE(child) << child.error().to_string();
    const auto ended = child->wait(std::chrono::milliseconds(random.between(50, 900)));
    ASSERT_FALSE(ended) << "the writer ended by itself with status " << *ended << ":\n"
                        << writer.log();
    Status off = (*fs)->cut_power();
    ASSERT_TRUE(off.ok()) << off.to_string();
    // It may notice: what it then claims is on the record, too.
    if (random.one_in(2)) child->wait(std::chrono::milliseconds(random.between(1, 100)));
    child->kill(SIGKILL);
    ASSERT_TRUE(child->wait(std::chrono::seconds(30))) << "the kill did not end the writer";
    Status on = (*fs)->remount();
    ASSERT_TRUE(on.ok()) << on.to_string();
    const auto verdict = writer.verify();
    ASSERT_TRUE(verdict) << "cut " << cut << ": " << verdict.error().to_string();
    ASSERT_TRUE(verdict->good()) << "cut " << cut << ": " << describe(*verdict);
    last = *verdict;
  }
  std::cerr << cuts << " power cuts of " << type << ": " << describe(last) << '\n';
  EXPECT_GT(last.acknowledged, 0U) << "no put was ever acknowledged: this run shows nothing";
  EXPECT_GT(last.deleted, 0U) << "no delete was ever acknowledged: this run shows nothing";
}

}  // namespace
}  // namespace cairn::crash

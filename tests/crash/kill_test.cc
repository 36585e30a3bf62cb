// I1, I6, I7 over SIGKILL: whatever the writer was told holds after each kill.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "engine/base/random.h"
#include "tests/crash/support/killed_writer.h"
#include "tests/crash/support/work_folder.h"

namespace cairn::crash {
namespace {

/// Short ones hit the start and recovery itself, long ones the middle of the work.
std::chrono::milliseconds random_life(SplitMix64& random) {
  return std::chrono::milliseconds(random.one_in(4) ? random.between(1, 60)
                                                    : random.between(60, 400));
}

TEST(KilledTarget, KeepsEveryAcknowledgedByteAndNoDeletedOne) {
  const std::uint64_t kills = number_from_environment("CAIRN_KILLS", 50);
  const std::uint64_t seed = seed_from_environment();
  const WorkFolder work;
  SplitMix64 random(seed);
  KilledWriter writer(work / "target", work / "journal", seed);
  store::InitOptions options;
  options.capacity_bytes = 1 * kGiB;
  const Status made = writer.init(options);
  ASSERT_TRUE(made.ok()) << made.to_string();

  bench::Verdict last;
  for (std::uint64_t kill = 1; kill <= kills; ++kill) {
    auto child = writer.start();
    ASSERT_TRUE(child) << child.error().to_string();
    const auto ended = child->wait(random_life(random));
    ASSERT_FALSE(ended) << "the writer ended by itself with status " << *ended << ":\n"
                        << writer.log();
    child->kill(SIGKILL);
    ASSERT_TRUE(child->wait(std::chrono::seconds(30))) << "the kill did not end the writer";
    // Sometimes the next start is the one that recovers, and may be killed while it does.
    if (kill < kills && random.one_in(3)) continue;
    const auto verdict = writer.verify();
    ASSERT_TRUE(verdict) << "kill " << kill << ": " << verdict.error().to_string();
    ASSERT_TRUE(verdict->good()) << "kill " << kill << ": " << describe(*verdict);
    last = *verdict;
  }
  std::cerr << kills << " kills: " << describe(last) << '\n';
  EXPECT_GT(last.acknowledged, 0U) << "no put was ever acknowledged: this run shows nothing";
  EXPECT_GT(last.deleted, 0U) << "no delete was ever acknowledged: this run shows nothing";
}

}  // namespace
}  // namespace cairn::crash

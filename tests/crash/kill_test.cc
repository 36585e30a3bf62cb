// I1, I6, I7 over SIGKILL: whatever the writer was told holds after each kill.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "engine/base/random.h"
#include "tests/crash/support/killed_writer.h"
#include "tests/crash/support/work_folder.h"

namespace cairn::crash {
namespace {

/// How long a writer takes until a delete is acknowledged, its start included: what the other lives
/// are measured by, as a sanitizer makes it many times longer.
Result<std::uint64_t> first_life_ms(KilledWriter& writer) {
  const auto begin = std::chrono::steady_clock::now();
  TRY(auto child, writer.start());
  for (;;) {
    const auto ended = child.wait(std::chrono::milliseconds(5));
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin);
    TRY(const bool deleted, writer.has_deleted());
    if (deleted && !ended) {
      child.kill(SIGKILL);
      child.wait(std::chrono::seconds(30));
      return static_cast<std::uint64_t>(age.count());
    }
    if (ended || age > std::chrono::minutes(1)) {
      return fail(Code::kTimeout, "the writer acknowledged no delete: " + writer.log());
    }
  }
}

/// Short ones hit the start and recovery itself, long ones the middle of the work.
std::chrono::milliseconds random_life(SplitMix64& random, std::uint64_t first_ms) {
  const std::uint64_t start_ms = std::max<std::uint64_t>(first_ms, 60);
  return std::chrono::milliseconds(random.one_in(4) ? random.between(1, start_ms)
                                                    : random.between(start_ms, 3 * start_ms));
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

  const auto first_ms = first_life_ms(writer);
  ASSERT_TRUE(first_ms) << first_ms.error().to_string();
  bench::Verdict last;
  for (std::uint64_t kill = 1; kill <= kills; ++kill) {
    auto child = writer.start();
    ASSERT_TRUE(child) << child.error().to_string();
    const auto ended = child->wait(random_life(random, *first_ms));
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
  std::cerr << kills << " kills, a first life of " << *first_ms << " ms: " << describe(last)
            << '\n';
  EXPECT_GT(last.acknowledged, 0U) << "no put was ever acknowledged: this run shows nothing";
  EXPECT_GT(last.deleted, 0U) << "no delete was ever acknowledged: this run shows nothing";
}

}  // namespace
}  // namespace cairn::crash

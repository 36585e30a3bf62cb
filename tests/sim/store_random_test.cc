// Random lives of a target: concurrent puts, deletes and reads, ended by power cuts and kills,
// checked against the model after every restart.  Each promise is named by its id in
// store_world.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/store_world.h"
#include "tests/sim/support/seeds.h"

namespace cairn::sim {
namespace {

constexpr int kLives = 4;
constexpr int kActors = 4;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

/// One client that does one thing after another until the process ends.
Task<void> actor(StoreWorld& world, std::uint64_t operations, const bool& stopped) {
  for (std::uint64_t i = 0; i < operations && !stopped; ++i) {
    const std::uint64_t choice = world.random.below(10);
    if (choice < 5) {
      const TestFragment fragment = world.make_fragment();
      (co_await world.put(fragment)).ignore();  // the model has what may follow
    } else if (choice < 7) {
      std::vector<FragmentName> names;
      for (std::uint64_t n = world.random.between(1, 3); n > 0; --n) {
        if (const auto picked = world.pick()) names.push_back(picked->name);
      }
      (co_await world.erase(names)).ignore();
    } else if (choice < 9) {
      if (const auto picked = world.pick()) (co_await world.read(*picked)).ignore();
    } else {
      co_await world.scheduler.sleep(std::chrono::microseconds(world.random.below(100'000)));
    }
  }
}

/// Runs actors for a while and ends the life in the way that the seed says.
void live_once(StoreWorld& world) {
  bool stopped = false;
  world.acting = true;
  // Mostly in the middle of the work, sometimes when all is quiet.
  const std::uint64_t operations = world.random.one_in(4) ? 5 : 100;
  const std::uint64_t life_us = world.random.below(world.random.one_in(4) ? 1'500'000 : 120'000);
  for (int i = 0; i < kActors; ++i) {
    spawn(world.scheduler.executor(), actor(world, operations, stopped));
  }
  world.scheduler.run_for(std::chrono::microseconds(life_us));
  stopped = true;
  world.acting = false;
  switch (world.random.below(4)) {
    case 0:
    case 1:
      return world.crash();
    case 2:
      return world.kill();
    default:
      world.scheduler.run_for(std::chrono::seconds(20));  // the actors end
      if (Status closed = world.close(); !closed.ok()) {
        world.violations.push_back("close: " + closed.to_string());
      }
  }
}

void run_lives(StoreWorld& world) {
  for (int life = 0; life < kLives; ++life) {
    const Status opened = world.open();
    ASSERT_TRUE(opened.ok()) << opened.to_string();
    world.check();
    ASSERT_EQ(joined(world.violations), "");
    live_once(world);
    ASSERT_EQ(joined(world.violations), "");
  }
  const Status opened = world.open();
  ASSERT_TRUE(opened.ok()) << opened.to_string();
  world.check();
  world.close_and_check_no_leak();
  EXPECT_EQ(joined(world.violations), "");
}

TEST(TargetLives, KeepEveryAcknowledgedByteThroughPowerCutsAndKills) {
  std::uint64_t puts = 0, deletes = 0, lost_changes = 0, torn = 0, suspects = 0;
  for_each_seed(
      [&](std::uint64_t seed) {
        StoreWorld world(seed, {});
        run_lives(world);
        puts += world.acknowledged_puts;
        deletes += world.acknowledged_deletes;
        lost_changes += world.disk.stats().lost_changes;
        torn += world.disk.stats().torn_changes;
        suspects += world.suspects;
      },
      2);
  // The crashes did bite, or the test shows nothing.
  if (HasFailure() || std::getenv("CAIRN_SEED") != nullptr) return;
  EXPECT_GT(puts, 0u);
  EXPECT_GT(deletes, 0u);
  EXPECT_GT(lost_changes, 0u);
  EXPECT_GT(torn, 0u);
  EXPECT_GT(suspects, 0u);
}

TEST(TargetLives, StayRightWithShortResultsAndFewDescriptors) {
  std::uint64_t shortened = 0, refused_opens = 0;
  for_each_seed(
      [&](std::uint64_t seed) {
        SimDiskOptions options;
        options.short_one_in = 5;
        StoreWorld world(seed, options);
        // Opens fail now and then while the target serves, not while it is checked.
        world.disk.faults().set_plan([&world](const SimFaultPoint& point) -> std::optional<int> {
          if (point.operation != SimOperation::kOpen || !world.acting) return std::nullopt;
          if (!world.random.one_in(6)) return std::nullopt;
          return -EMFILE;
        });
        run_lives(world);
        shortened += world.disk.stats().shortened;
        refused_opens += world.disk.stats().failed(SimOperation::kOpen);
      },
      4);
  if (HasFailure() || std::getenv("CAIRN_SEED") != nullptr) return;
  EXPECT_GT(shortened, 0u);
  EXPECT_GT(refused_opens, 0u);
}

TEST(TargetLives, FailOnceAndForGoodAtTheFirstWriteOrFlushError) {
  std::uint64_t failed_targets = 0;
  for_each_seed(
      [&](std::uint64_t seed) {
        StoreWorld world(seed, {});
        ASSERT_TRUE(world.open().ok());
        const auto operation = world.random.one_in(2) ? SimOperation::kWrite : SimOperation::kFlush;
        world.disk.faults().fail(operation, world.random.below(30), EIO);
        bool stopped = false;
        for (int i = 0; i < kActors; ++i) {
          spawn(world.scheduler.executor(), actor(world, 20, stopped));
        }
        world.scheduler.run_for(std::chrono::seconds(30));
        if (world.disk.stats().failed(operation) > 0) {
          ++failed_targets;
          EXPECT_TRUE(world.target->info().failed);
          const Status refused = world.scheduler.run(world.put(world.make_fragment()));
          EXPECT_EQ(refused.reason(), Reason::kTargetFailed) << refused.to_string();
        }
        world.violations.clear();  // reads of a failing device may fail; wrong answers may not
        world.crash();
        const Status opened = world.open();
        ASSERT_TRUE(opened.ok()) << opened.to_string();
        if (failed_targets > 0 && world.disk.stats().failed(operation) > 0) {
          EXPECT_TRUE(world.target->info().failed) << "a restart forgot the failure";
        }
        world.check();
        EXPECT_EQ(joined(world.violations), "");
      },
      4);
  EXPECT_GT(failed_targets, 0u);
}

TEST(TargetLives, RepeatExactlyWithTheSameSeed) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    std::uint64_t hashes[2] = {};
    for (std::uint64_t& hash : hashes) {
      StoreWorld world(seed, {});
      run_lives(world);
      hash = world.scheduler.trace_hash();
    }
    EXPECT_EQ(hashes[0], hashes[1]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cairn::sim

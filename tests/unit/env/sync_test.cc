// Who wakes, in which order, and when: each with a clock moved by hand.
#include "engine/env/sync.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/env/env_world.h"

namespace cairn {
namespace {

using namespace std::chrono_literals;
using Log = std::vector<std::string>;

struct Fixture : ::testing::Test, testing::EnvWorld {
  Log log;

  Task<void> waits(Event& event, std::string name) {
    co_await event.wait();
    log.push_back(std::move(name));
  }

  Task<void> waits_until(Event& event, env::MonotonicTime deadline, std::string name) {
    const bool woken = co_await event.wait_until(clock, deadline);
    log.push_back(name + (woken ? " woken" : " late"));
  }

  Task<void> acquires(Permits& permits, std::uint64_t count, std::string name) {
    co_await permits.acquire(count);
    log.push_back(std::move(name));
  }

  /// Ends with `result` once `event` is set.
  Task<Status> ends(Event& event, Status result) {
    co_await event.wait();
    co_return result;
  }

  Task<void> joins(TaskGroup& group, std::string name) {
    const Status status = co_await group.join();
    log.push_back(name + " " + std::string(to_string(status.code())));
  }
};

using EventTest = Fixture;
using PermitsTest = Fixture;
using TaskGroupTest = Fixture;
using SleepUntilTest = Fixture;

TEST_F(EventTest, WakesAllInTheOrderTheyCameAndNotInsideSet) {
  Event event(executor);
  spawn(executor, waits(event, "a"));
  spawn(executor, waits(event, "b"));
  spawn(executor, waits(event, "c"));
  settle();
  EXPECT_EQ(log, Log{});
  event.set();
  EXPECT_EQ(log, Log{});
  settle();
  EXPECT_EQ(log, (Log{"a", "b", "c"}));
}

TEST_F(EventTest, LetsLaterWaitsThroughUntilReset) {
  Event event(executor);
  event.set();
  spawn(executor, waits(event, "a"));
  settle();
  EXPECT_EQ(log, Log{"a"});
  event.reset();
  EXPECT_FALSE(event.is_set());
  spawn(executor, waits(event, "b"));
  settle();
  EXPECT_EQ(log, Log{"a"});
  event.set();
  settle();
  EXPECT_EQ(log, (Log{"a", "b"}));
}

TEST_F(EventTest, WakesWhoWaitedEvenIfResetBeforeTheyRun) {
  Event event(executor);
  spawn(executor, waits(event, "a"));
  settle();
  event.set();
  event.reset();
  settle();
  EXPECT_EQ(log, Log{"a"});
}

TEST_F(EventTest, PulseWakesOnlyThoseWhoWaitNow) {
  Event event(executor);
  event.pulse();
  spawn(executor, waits(event, "a"));
  settle();
  EXPECT_EQ(log, Log{});
  event.pulse();
  EXPECT_FALSE(event.is_set());
  spawn(executor, waits(event, "b"));
  settle();
  EXPECT_EQ(log, Log{"a"});
  event.pulse();
  settle();
  EXPECT_EQ(log, (Log{"a", "b"}));
}

TEST_F(EventTest, WaitUntilSaysLateAtTheDeadlineAndNotBefore) {
  Event event(executor);
  spawn(executor, waits_until(event, clock.now() + 10ms, "a"));
  settle();
  advance(10ms - 1ns);
  EXPECT_EQ(log, Log{});
  advance(1ns);
  EXPECT_EQ(log, Log{"a late"});
  event.set();  // nobody is left to wake
  settle();
  EXPECT_EQ(log, Log{"a late"});
}

TEST_F(EventTest, WaitUntilLeavesNoTimerBehindWhenWoken) {
  Event event(executor);
  spawn(executor, waits_until(event, clock.now() + 10ms, "a"));
  settle();
  EXPECT_EQ(clock.pending(), 1U);
  event.set();
  settle();
  EXPECT_EQ(log, Log{"a woken"});
  EXPECT_EQ(clock.pending(), 0U);
  spawn(executor, waits_until(event, clock.now(), "b"));  // set: needs no timer
  settle();
  EXPECT_EQ(log, (Log{"a woken", "b woken"}));
}

TEST_F(EventTest, WakesOnceWhenTheDeadlinePassesBetweenSetAndItsRun) {
  Event event(executor);
  spawn(executor, waits_until(event, clock.now() + 10ms, "a"));
  settle();
  event.set();
  clock.advance_to(clock.now() + 20ms);  // the timer fires before the queue runs
  settle();
  EXPECT_EQ(log, Log{"a woken"});
}

TEST_F(EventTest, ADeadlineTakesOnlyItsOwnWaiterOutOfTheLine) {
  Event event(executor);
  spawn(executor, waits(event, "a"));
  spawn(executor, waits_until(event, clock.now() + 10ms, "b"));
  spawn(executor, waits_until(event, clock.now() + 30ms, "c"));
  settle();
  advance(20ms);
  EXPECT_EQ(log, Log{"b late"});
  event.set();
  settle();
  EXPECT_EQ(log, (Log{"b late", "a", "c woken"}));
}

TEST_F(EventTest, MayDieOnceItHasWokenItsLastWaiter) {
  auto event = std::make_unique<Event>(executor);
  spawn(executor, waits_until(*event, clock.now() + 10ms, "a"));
  settle();
  event->set();
  event.reset();
  advance(20ms);
  EXPECT_EQ(log, Log{"a woken"});
}

using EventDeathTest = Fixture;

TEST_F(EventDeathTest, AbortsWhenItDiesUnderAWaiter) {
  auto dies = [this] {
    Event event(executor);
    spawn(executor, waits(event, "a"));
    settle();
  };
  EXPECT_DEATH(dies(), "waiters_.empty");
}

TEST_F(PermitsTest, TakesWhatIsFreeAndGivesItBack) {
  Permits permits(executor, 3);
  EXPECT_TRUE(permits.try_acquire(2));
  EXPECT_FALSE(permits.try_acquire(2));
  EXPECT_EQ(permits.available(), 1U);
  permits.release(2);
  EXPECT_EQ(permits.available(), 3U);
  spawn(executor, acquires(permits, 3, "a"));
  settle();
  EXPECT_EQ(log, Log{"a"});
  EXPECT_EQ(permits.available(), 0U);
}

TEST_F(PermitsTest, DoesNotLetSmallRequestsPassALargeOneThatWaits) {
  Permits permits(executor, 4);
  EXPECT_TRUE(permits.try_acquire(3));
  spawn(executor, acquires(permits, 4, "large"));
  spawn(executor, acquires(permits, 1, "small"));
  settle();
  EXPECT_EQ(permits.waiting(), 2U);
  EXPECT_FALSE(permits.try_acquire(1));  // one is free, but the large one came first
  settle();
  EXPECT_EQ(log, Log{});
  permits.release(3);
  EXPECT_EQ(log, Log{});  // from the queue, not inside release
  settle();
  EXPECT_EQ(log, Log{"large"});
  permits.release(4);
  settle();
  EXPECT_EQ(log, (Log{"large", "small"}));
  EXPECT_EQ(permits.available(), 3U);
}

TEST_F(PermitsTest, HandsOneReleaseToAllWhomItSuffices) {
  Permits permits(executor, 5);
  EXPECT_TRUE(permits.try_acquire(5));
  spawn(executor, acquires(permits, 2, "a"));
  spawn(executor, acquires(permits, 2, "b"));
  spawn(executor, acquires(permits, 2, "c"));
  settle();
  permits.release(5);
  settle();
  EXPECT_EQ(log, (Log{"a", "b"}));
  EXPECT_EQ(permits.available(), 1U);
  EXPECT_EQ(permits.waiting(), 1U);
  permits.release(1);
  settle();
  EXPECT_EQ(log, (Log{"a", "b", "c"}));
}

TEST_F(PermitsTest, CountsWhatItHandedOutBeforeTheWaiterRuns) {
  Permits permits(executor, 1);
  EXPECT_TRUE(permits.try_acquire(1));
  spawn(executor, acquires(permits, 1, "a"));
  settle();
  permits.release(1);
  EXPECT_FALSE(permits.try_acquire(1));  // it is the waiter's already
  settle();
  EXPECT_EQ(log, Log{"a"});
}

TEST_F(TaskGroupTest, JoinOfAnEmptyGroupIsOk) {
  TaskGroup group(executor);
  spawn(executor, joins(group, "join"));
  settle();
  EXPECT_EQ(log, Log{"join ok"});
}

TEST_F(TaskGroupTest, JoinWaitsForAllEvenAfterAnError) {
  TaskGroup group(executor);
  Event first(executor);
  Event second(executor);
  group.spawn(ends(first, Status(Code::kIo, "disk")));
  group.spawn(ends(second, Status()));
  spawn(executor, joins(group, "join"));
  settle();
  first.set();
  settle();
  EXPECT_EQ(group.running(), 1U);
  EXPECT_EQ(log, Log{});
  second.set();
  settle();
  EXPECT_EQ(group.running(), 0U);
  EXPECT_EQ(log, Log{"join I/O error"});
}

TEST_F(TaskGroupTest, KeepsTheErrorThatCompletedFirstNotTheOneSpawnedFirst) {
  TaskGroup group(executor);
  Event first(executor);
  Event second(executor);
  group.spawn(ends(first, Status(Code::kIo, "disk")));
  group.spawn(ends(second, Status(Code::kCorrupt, "bytes")));
  settle();
  second.set();
  settle();
  first.set();
  settle();
  spawn(executor, joins(group, "join"));
  settle();
  EXPECT_EQ(log, Log{"join corrupt"});
}

TEST_F(TaskGroupTest, IsReusableAfterJoinAndForgetsTheError) {
  TaskGroup group(executor);
  Event event(executor);
  event.set();
  group.spawn(ends(event, Status(Code::kIo, "disk")));
  spawn(executor, joins(group, "first"));
  settle();
  group.spawn(ends(event, Status()));
  spawn(executor, joins(group, "second"));
  settle();
  EXPECT_EQ(log, (Log{"first I/O error", "second ok"}));
}

TEST_F(TaskGroupTest, JoinWaitsForATaskThatCameAfterTheLastOneEnded) {
  // However many turns of the executor lie between that end and the joiner's own turn.
  for (int turns = 0; turns < 8; ++turns) {
    log.clear();
    TaskGroup group(executor);
    Event first(executor);
    Event second(executor);
    group.spawn(ends(first, Status()));
    spawn(executor, joins(group, "join"));
    settle();
    std::function<void(int)> spawn_after = [&](int left) {
      if (left == 0) {
        if (log.empty()) group.spawn(ends(second, Status()));
      } else {
        boost::asio::post(executor, [&spawn_after, left] { spawn_after(left - 1); });
      }
    };
    first.set();
    spawn_after(turns);
    settle();
    if (group.running() != 0) {
      EXPECT_EQ(log, Log{}) << turns << " turns";
    }
    second.set();
    settle();
    EXPECT_EQ(log, Log{"join ok"}) << turns << " turns";
  }
}

using TaskGroupDeathTest = Fixture;

TEST_F(TaskGroupDeathTest, AbortsWhenItDiesBeforeItsTasks) {
  Event event(executor);
  auto dies = [this, &event] {
    TaskGroup group(executor);
    group.spawn(ends(event, Status()));
    settle();
  };
  EXPECT_DEATH(dies(), "running_ == 0");
}

TEST_F(SleepUntilTest, ReturnsAtTheDeadlineAndNotBefore) {
  auto sleeps = [this](env::MonotonicTime deadline, std::string name) -> Task<void> {
    co_await sleep_until(clock, executor, deadline);
    EXPECT_GE(clock.now(), deadline);
    log.push_back(std::move(name));
  };
  spawn(executor, sleeps(clock.now() + 20ms, "long"));
  spawn(executor, sleeps(clock.now() + 10ms, "short"));
  settle();
  advance(10ms - 1ns);
  EXPECT_EQ(log, Log{});
  advance(1ns);
  EXPECT_EQ(log, Log{"short"});
  advance(1h);
  EXPECT_EQ(log, (Log{"short", "long"}));
  EXPECT_EQ(clock.pending(), 0U);
}

}  // namespace
}  // namespace cairn

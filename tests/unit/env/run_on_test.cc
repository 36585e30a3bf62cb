// Blocking work elsewhere: on which thread it runs, and where its caller goes on.
#include "engine/env/run_on.h"

#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <thread>

#include "tests/unit/env/env_world.h"

namespace cairn {
namespace {

struct RunOnTest : ::testing::Test, testing::EnvWorld {
  boost::asio::thread_pool pool{1};
  Executor elsewhere{pool.get_executor()};

  ~RunOnTest() override { pool.join(); }
};

TEST_F(RunOnTest, CallsTheWorkElsewhereAndResumesItsCallerAtHome) {
  const auto home = std::this_thread::get_id();
  bool finished = false;
  auto caller = [&]() -> Task<void> {
    auto work = [] { return std::this_thread::get_id(); };
    const auto worker = co_await run_on(elsewhere, work);
    EXPECT_NE(worker, home);
    EXPECT_EQ(std::this_thread::get_id(), home);
    finished = true;
  };
  spawn(executor, caller());
  context.run();  // must not run dry while the work is elsewhere
  EXPECT_TRUE(finished);
}

TEST_F(RunOnTest, CarriesValuesThatCanOnlyMove) {
  std::unique_ptr<int> got;
  auto caller = [&]() -> Task<void> {
    auto work = [] { return std::make_unique<int>(7); };
    got = co_await run_on(elsewhere, work);
  };
  spawn(executor, caller());
  context.run();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(*got, 7);
}

}  // namespace
}  // namespace cairn

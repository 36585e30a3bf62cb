// Every sequence of at most three operations, with a power cut after the last one was answered and
// with one while it runs: small enough to be complete, so that no rule depends on luck.
#include <gtest/gtest.h>

#include <vector>

#include "tests/sim/store_world.h"

namespace cairn::sim {
namespace {

enum class Step : std::uint8_t { kPutSmall, kPutLarge, kDeleteSmall, kDeleteLarge, kWait };
constexpr int kSteps = 5;

struct Fragments {
  TestFragment small;
  TestFragment large;
};

Task<Status> perform(StoreWorld& world, Step step, const Fragments& fragments) {
  // Named here: GCC 12 refuses initialiser lists beside co_await.
  const bool of_small = step == Step::kPutSmall || step == Step::kDeleteSmall;
  const TestFragment fragment = of_small ? fragments.small : fragments.large;
  const std::vector<FragmentName> names(1, fragment.name);
  switch (step) {
    case Step::kPutSmall:
    case Step::kPutLarge:
      co_return co_await world.put(fragment);
    case Step::kDeleteSmall:
    case Step::kDeleteLarge:
      co_return co_await world.erase(names);
    case Step::kWait:
      break;
  }
  co_await world.scheduler.sleep(std::chrono::seconds(1));
  co_return Status();
}

Task<void> perform_alone(StoreWorld& world, Step step, Fragments fragments) {
  (co_await perform(world, step, fragments)).ignore();  // the process ends in the middle of it
}

std::vector<std::vector<Step>> all_sequences() {
  std::vector<std::vector<Step>> all = {{}};
  std::size_t begin = 0;
  for (int length = 1; length <= 3; ++length) {
    const std::size_t end = all.size();
    for (; begin < end; ++begin) {
      for (int step = 0; step < kSteps; ++step) {
        all.push_back(all[begin]);
        all.back().push_back(static_cast<Step>(step));
      }
    }
  }
  all.erase(all.begin());
  return all;
}

void run_sequence(StoreWorld& world, const std::vector<Step>& steps, bool cut_in_the_middle) {
  ASSERT_TRUE(world.open().ok());
  Fragments fragments{world.make_fragment(), world.make_fragment()};
  fragments.small.geometry.object_bytes = kPageBytes;
  fragments.large.geometry.object_bytes = 300 * kKiB;
  // A name put again after its delete is a new try to place it.
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (cut_in_the_middle && i + 1 == steps.size()) {
      spawn(world.scheduler.executor(), perform_alone(world, steps[i], fragments));
      world.scheduler.run_for(std::chrono::microseconds(world.random.below(2'000)));
    } else {
      const Status done = world.scheduler.run(perform(world, steps[i], fragments));
      ASSERT_TRUE(done.ok()) << done.to_string();
    }
    if (steps[i] == Step::kDeleteSmall) ++fragments.small.name.placement.value;
    if (steps[i] == Step::kDeleteLarge) ++fragments.large.name.placement.value;
  }
  world.crash();
  ASSERT_TRUE(world.open().ok());
  world.check();
  world.close_and_check_no_leak();
}

TEST(TargetSequences, OfThreeOperationsEndRightAtEveryPowerCut) {
  std::uint64_t seed = 0;
  const auto sequences = all_sequences();
  EXPECT_EQ(sequences.size(), 5u + 25u + 125u);
  for (const auto& steps : sequences) {
    for (const bool in_the_middle : {false, true}) {
      for (int repeat = 0; repeat < 2; ++repeat) {
        StoreWorld world(++seed, {});
        run_sequence(world, steps, in_the_middle);
        std::string text;
        for (const Step step : steps) text += std::to_string(static_cast<int>(step)) + ' ';
        for (const std::string& violation : world.violations) {
          ADD_FAILURE() << violation << "; steps " << text << " seed " << seed;
        }
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace cairn::sim

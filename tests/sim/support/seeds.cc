#include "tests/sim/support/seeds.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace cairn::sim {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

void for_each_seed(const std::function<void(std::uint64_t seed)>& run, std::uint32_t share) {
  constexpr std::uint64_t kUnset = UINT64_MAX;
  const std::uint64_t only = number_from("CAIRN_SEED", kUnset);
  const std::uint64_t exactly = number_from("CAIRN_SIM_SEEDS", kUnset);
  const std::uint64_t floor = number_from("CAIRN_SIM_SEEDS_MIN", 300) / share;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(1000 * number_from("CAIRN_SIM_SECONDS", 20) / share);
  std::uint64_t seed = only == kUnset ? 1 : only;
  std::uint64_t ran = 0;
  while (true) {
    if (only != kUnset) {
      if (ran == 1) break;
    } else if (exactly != kUnset) {
      if (ran == exactly) break;
    } else if (ran >= floor && std::chrono::steady_clock::now() >= end) {
      break;
    }
    run(seed);
    ++ran;
    if (testing::Test::HasFailure()) {
      const auto* test = testing::UnitTest::GetInstance()->current_test_info();
      std::printf("failed with seed %llu; again: CAIRN_SEED=%llu <program> --gtest_filter=%s.%s\n",
                  static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed),
                  test->test_suite_name(), test->name());
      return;
    }
    ++seed;
  }
  std::printf("%llu seeds ran\n", static_cast<unsigned long long>(ran));
}

}  // namespace cairn::sim

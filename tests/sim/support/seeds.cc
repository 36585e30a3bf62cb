#include "tests/sim/support/seeds.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

// Present only in a program with a sanitizer.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace cairn::sim {
namespace {

/// Value of `--name=N` on the command line, read where gtest's own main has no place for it.
std::optional<std::uint64_t> argument(const std::string& name) {
  std::ifstream line("/proc/self/cmdline");
  for (std::string word; std::getline(line, word, '\0');) {
    if (!word.starts_with(name + "=")) continue;
    return std::strtoull(word.c_str() + name.size() + 1, nullptr, 10);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::optional<std::uint64_t> setting(const char* flag, const char* name) {
  const auto from_line = argument(flag);
  return from_line ? from_line : variable(name);
}

// ---- the last words of a process that a seed killed ---------------------------------------------

char last_words[512];
std::size_t last_words_bytes = 0;  // 0: no seed is running

/// Async-signal-safe.
void say_last_words() {
  if (last_words_bytes == 0) return;
  [[maybe_unused]] const auto ignored = ::write(STDOUT_FILENO, last_words, last_words_bytes);
  last_words_bytes = 0;
}

void on_fatal_signal(int signal) {
  say_last_words();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch_for_death() {
  static bool watching = false;
  if (std::exchange(watching, true)) return;
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(say_last_words);
  } else {
    std::signal(SIGSEGV, on_fatal_signal);
  }
  std::signal(SIGABRT, on_fatal_signal);
}

void set_last_words(std::uint64_t seed) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const auto number = static_cast<unsigned long long>(seed);
  const int bytes = std::snprintf(
      last_words, sizeof last_words,
      "failed with seed %llu; again: CAIRN_SEED=%llu <program> --gtest_filter=%s.%s\n", number,
      number, test->test_suite_name(), test->name());
  last_words_bytes = std::min(static_cast<std::size_t>(bytes), sizeof last_words - 1);
}

/// False after a failure.
bool run_one(const std::function<void(std::uint64_t seed)>& run, std::uint64_t seed) {
  set_last_words(seed);
  run(seed);
  if (testing::Test::HasFailure()) {
    std::fflush(stdout);
    say_last_words();
    return false;
  }
  last_words_bytes = 0;
  return true;
}

}  // namespace

bool replaying_one_seed() { return setting("--seed", "CAIRN_SEED").has_value(); }

void for_each_seed(const std::function<void(std::uint64_t seed)>& run, std::uint32_t share) {
  watch_for_death();
  if (const auto only = setting("--seed", "CAIRN_SEED")) {
    run_one(run, *only);
    return;
  }
  const auto exactly = setting("--seeds", "CAIRN_SIM_SEEDS");
  const std::uint64_t floor = variable("CAIRN_SIM_SEEDS_MIN").value_or(300) / share;
  const auto end =
      std::chrono::steady_clock::now() +
      std::chrono::milliseconds(1000 * variable("CAIRN_SIM_SECONDS").value_or(20) / share);
  std::uint64_t ran = 0;
  while (exactly ? ran < *exactly : ran < floor || std::chrono::steady_clock::now() < end) {
    if (!run_one(run, ran + 1)) return;
    ++ran;
  }
  std::printf("%llu seeds ran\n", static_cast<unsigned long long>(ran));
  std::fflush(stdout);
}

}  // namespace cairn::sim

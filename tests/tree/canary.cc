// Programs that are wrong on purpose: `canary NAME` must die under the guard that NAME is for, and
// `canary nothing` must live under all of them.  Run by ctest through expect_death.py.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/status.h"

namespace {

// Through volatile, or the compiler would see the fault and drop it.
volatile int zero = 0;

void heap_overflow() {
  std::vector<int> four(4);
  four.data()[4 + zero] = 1;
}

void use_after_free() {
  auto* p = new int(1);
  delete p;
  zero = *static_cast<volatile int*>(p);
}

void leak() {
  volatile auto* p = new int[100];
  p[0] = 1;
  p = nullptr;
}

void signed_overflow() {
  const int sum = INT_MAX - zero + 1;
  zero = sum;
}

void data_race() {
  int shared = 0;
  auto add = [&shared] {
    for (int i = 0; i < 100'000; ++i) ++*static_cast<volatile int*>(&shared);
  };
  std::thread other(add);
  add();
  other.join();
}

void unread_status() { const cairn::Status status(cairn::Code::kIo, "canary: nobody reads this"); }

void failed_check() { CAIRN_CHECK(zero == 1); }

struct Canary {
  std::string_view name;
  void (*run)();
};
constexpr Canary kCanaries[] = {
    {"nothing", [] {}},
    {"heap_overflow", heap_overflow},
    {"use_after_free", use_after_free},
    {"leak", leak},
    {"signed_overflow", signed_overflow},
    {"data_race", data_race},
    {"unread_status", unread_status},
    {"failed_check", failed_check},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Canary& canary : kCanaries) {
    if (argc != 2 || canary.name != argv[1]) continue;
    canary.run();
    std::printf("canary %s lives\n", argv[1]);
    return 0;
  }
  std::fputs("use: canary NAME\n", stderr);
  return 2;
}

#include <sys/random.h>

#include <cerrno>
#include <csignal>

#include "engine/base/check.h"
#include "engine/platform/platform.h"

namespace cairn::platform {
namespace {

class KernelRandom final : public env::Random {
 public:
  void fill(MutableBytes out) override {
    while (!out.empty()) {
      const ssize_t got = ::getrandom(out.data(), out.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      CAIRN_CHECK(got > 0);  // cannot fail otherwise; names made without randomness would collide
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }
};

}  // namespace

std::unique_ptr<env::Random> make_random() { return std::make_unique<KernelRandom>(); }

void ignore_sigpipe() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace cairn::platform

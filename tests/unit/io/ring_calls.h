// Test support: this program's own versions of a few calls of liburing and the C library, in front
// of the real ones, so that a test can make the kernel refuse things.  Production code has no seam
// for it.
#pragma once

#include <functional>

struct io_uring;
struct io_uring_cqe;

namespace cairn::testing {

/// Reset it at the start of each test.
struct RingCalls {
  /// Instead of io_uring_submit: its result, or `pass`.
  std::function<int()> submit;
  /// Set-up flags that this "kernel" does not know.
  unsigned unknown_setup_flags = 0;
  /// Called for each completion that a system call of ours brought; may change it.  Without
  /// deferred completions (before Linux 6.1) the kernel also posts them by itself, unseen.
  std::function<void(io_uring_cqe&)> completion;
  bool refuse_direct = false;        ///< fcntl(F_SETFL, O_DIRECT) fails with EINVAL
  bool refuse_registration = false;  ///< tables of files and memory are refused with ENOMEM
  int submits = 0;
  int setups = 0;

  static constexpr int pass = 1 << 20;
};
RingCalls& ring_calls();

}  // namespace cairn::testing

// CAIRN_CHECK: our own invariants.  Stays on in release.  Never applied to bytes that a peer, a
// disk or a user gave us: those are errors (status.h).
#pragma once

namespace cairn {

/// Writes the condition and its place to stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace cairn

#define CAIRN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::cairn::check_failed(#condition, __FILE__, __LINE__))

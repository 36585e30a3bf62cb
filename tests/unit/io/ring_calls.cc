#include "tests/unit/io/ring_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <liburing.h>

#include <cerrno>
#include <cstdarg>

namespace cairn::testing {

RingCalls& ring_calls() {
  static RingCalls calls;
  return calls;
}

namespace {
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
}  // namespace
}  // namespace cairn::testing

using cairn::testing::next;
using cairn::testing::ring_calls;

/// Makes the real call and shows the hook what it brought.
static int call_kernel(const char* name, io_uring* ring) {
  const unsigned before = *ring->cq.ktail;
  const int result = next<int(io_uring*)>(name)(ring);
  if (!ring_calls().completion) return result;
  for (unsigned at = before; at != *ring->cq.ktail; ++at) {
    ring_calls().completion(ring->cq.cqes[at & ring->cq.ring_mask]);
  }
  return result;
}

extern "C" int io_uring_submit(io_uring* ring) {
  ++ring_calls().submits;
  if (ring_calls().submit) {
    const int result = ring_calls().submit();
    if (result != cairn::testing::RingCalls::pass) return result;
  }
  return call_kernel("io_uring_submit", ring);
}

extern "C" int io_uring_queue_init_params(unsigned entries, io_uring* ring, io_uring_params* p) {
  ++ring_calls().setups;
  if ((p->flags & ring_calls().unknown_setup_flags) != 0) return -EINVAL;
  return next<int(unsigned, io_uring*, io_uring_params*)>("io_uring_queue_init_params")(entries,
                                                                                        ring, p);
}

extern "C" int io_uring_get_events(io_uring* ring) {
  return call_kernel("io_uring_get_events", ring);
}

extern "C" int io_uring_register_files_sparse(io_uring* ring, unsigned count) {
  if (ring_calls().refuse_registration) return -ENOMEM;
  return next<int(io_uring*, unsigned)>("io_uring_register_files_sparse")(ring, count);
}

extern "C" int io_uring_register_buffers_sparse(io_uring* ring, unsigned count) {
  if (ring_calls().refuse_registration) return -ENOMEM;
  return next<int(io_uring*, unsigned)>("io_uring_register_buffers_sparse")(ring, count);
}

extern "C" int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  const auto flags = reinterpret_cast<std::uintptr_t>(argument);
  if (ring_calls().refuse_direct && command == F_SETFL && (flags & O_DIRECT) != 0) {
    errno = EINVAL;
    return -1;
  }
  return next<int(int, int, void*)>("fcntl")(fd, command, argument);
}

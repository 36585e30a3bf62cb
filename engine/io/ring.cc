#include "engine/io/ring.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <string>

namespace cairn::io {
namespace {

/// Tries of one system call that was interrupted or refused for the moment.
constexpr int kCallTriesMax = 16;

/// Best first.  R_DISABLED: the ring belongs to the thread that starts it, which need not be the
/// one that makes it.
constexpr unsigned kSetupFlags[] = {
    // Linux 6.1: completions run when we ask, on our thread, without an interrupt of it.
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
        IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL,
    // Linux 5.19.
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED |
        IORING_SETUP_SUBMIT_ALL,
    0,
};

Status setup_error(int error) {
  switch (error) {
    case ENOSYS:
      return {Code::kUnsupported, "io_uring: this kernel does not have it (Linux 5.10)"};
    case EPERM:
    case EACCES:
      return {Code::kUnsupported,
              "io_uring: not permitted here; check sysctl kernel.io_uring_disabled and the "
              "container's seccomp profile"};
    case ENOMEM:
      return {Code::kUnavailable,
              "io_uring: out of locked memory; raise the limit (ulimit -l) or free memory"};
    default:
      return status_from_errno(error, "io_uring");
  }
}

}  // namespace

bool Ring::is_transient(int error) {
  return error == -EINTR || error == -EAGAIN || error == -EBUSY || error == -ENOMEM;
}

Result<std::unique_ptr<Ring>> Ring::make(std::uint32_t depth) {
  std::unique_ptr<Ring> ring(new Ring());
  TRY_VOID(ring->set_up(depth));
  return ring;
}

Status Ring::set_up(std::uint32_t depth) {
  int result = -EINVAL;
  for (const unsigned flags : kSetupFlags) {
    io_uring_params parameters{};
    parameters.flags = flags;
    result = io_uring_queue_init_params(depth, &ring_, &parameters);
    started_ = (flags & IORING_SETUP_R_DISABLED) == 0;
    if (result != -EINVAL) break;  // EINVAL: a flag is unknown to this kernel
  }
  if (result < 0) return setup_error(-result);
  made_ = true;
  io_uring_ring_dontfork(&ring_);  // a child must not share our queues
  event_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event_.get() < 0) return status_from_errno(errno, "eventfd of io_uring");
  result = io_uring_register_eventfd(&ring_, event_.get());
  if (result < 0) return status_from_errno(-result, "register the eventfd of io_uring");
  return {};
}

Ring::~Ring() {
  if (made_) io_uring_queue_exit(&ring_);
}

Status Ring::register_files(std::uint32_t slots) {
  const int result = io_uring_register_files_sparse(&ring_, slots);
  if (result < 0) return status_from_errno(-result, "register files");
  return {};
}

bool Ring::set_file(std::uint32_t slot, int fd) {
  return io_uring_register_files_update(&ring_, slot, &fd, 1) == 1;
}

Status Ring::register_buffers(std::uint32_t slots) {
  const int result = io_uring_register_buffers_sparse(&ring_, slots);
  if (result < 0) return status_from_errno(-result, "register memory");
  return {};
}

Status Ring::set_buffer(std::uint32_t slot, MutableBytes memory) {
  const iovec range{memory.data(), memory.size()};
  const __u64 no_tag = 0;
  const int result = io_uring_register_buffers_update_tag(&ring_, slot, &range, &no_tag, 1);
  if (result < 0) return status_from_errno(-result, "register memory");
  return {};
}

void Ring::start() {
  if (thread_ == std::thread::id()) thread_ = std::this_thread::get_id();
  if (started_) return;
  started_ = true;
  // liburing 2.3 declares io_uring_enable_rings() and does not export it.
  CAIRN_CHECK(io_uring_register(static_cast<unsigned>(ring_.ring_fd), IORING_REGISTER_ENABLE_RINGS,
                                nullptr, 0) == 0);
}

bool Ring::on_its_thread() const {
  return thread_ == std::thread::id() || thread_ == std::this_thread::get_id();
}

io_uring_sqe* Ring::next_entry() {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  CAIRN_CHECK(entry != nullptr);
  return entry;
}

int Ring::submit() {
  start();
  int result = 0;
  for (int tries = 0; tries < kCallTriesMax && !is_empty(); ++tries) {
    result = io_uring_submit(&ring_);
    if (result == -EBUSY) run_kernel_work();  // it wants its completions collected first
    if (result < 0 && !is_transient(result)) return result;
  }
  if (is_empty()) return 0;
  return result < 0 ? result : -EAGAIN;
}

bool Ring::run_kernel_work() {
  for (int tries = 0; tries < kCallTriesMax; ++tries) {
    const int result = io_uring_get_events(&ring_);
    if (result >= 0) return true;
    if (!is_transient(result)) return false;
  }
  return false;
}

void Ring::wait() {
  start();
  const int result = io_uring_submit_and_wait(&ring_, 1);
  CAIRN_CHECK(result >= 0 || is_transient(result));  // else memory would be freed under the kernel
}

}  // namespace cairn::io

// The io_uring itself: set-up with its fall-backs, submission with its errors, collection.  Knows
// entries and results, not operations or files: UringDevice gives them meaning.
//
// Made on any thread; used and, while entries are in flight, destroyed on the thread that first
// submitted (SINGLE_ISSUER).
#pragma once

#include <liburing.h>

#include <cstdint>
#include <memory>
#include <thread>

#include "engine/base/bytes.h"
#include "engine/base/status.h"
#include "engine/io/direct_file.h"

namespace cairn::io {

class Ring {
 public:
  /// `depth` entries in flight at most: the completion queue is twice that, so it can't overflow.
  /// kUnavailable: no descriptors, or no locked memory.  kUnsupported: this kernel has no io_uring
  /// or does not allow it.
  static Result<std::unique_ptr<Ring>> make(std::uint32_t depth);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Readable when entries may have completed.  Owned by the ring.
  int event_fd() const { return event_.get(); }

  /// A table for `slots` files, or the reason why not.
  Status register_files(std::uint32_t slots);
  /// Puts `fd` into the slot; -1 empties it.  False: the kernel refused and the slot is empty.
  bool set_file(std::uint32_t slot, int fd);
  /// A table for `slots` memory ranges, or the reason why not.
  Status register_buffers(std::uint32_t slots);
  /// No memory empties the slot.
  Status set_buffer(std::uint32_t slot, MutableBytes memory);

  bool has_room() const { return io_uring_sq_space_left(&ring_) > 0; }
  /// No entry waits for submit().
  bool is_empty() const { return io_uring_sq_ready(&ring_) == 0; }
  /// An entry to fill; it goes to the kernel at the next submit().  Needs room.
  io_uring_sqe* next_entry();
  /// One system call for all new entries.  0, or -errno while some stay here: after -EINTR,
  /// -EAGAIN, -EBUSY and -ENOMEM (short of memory, too many completions waiting) another submit()
  /// takes them.
  int submit();
  /// Whether the same call may succeed a moment later.
  static bool is_transient(int error);
  /// Gives up on entries that the kernel never took; calls `dropped(user data)` for each.
  template <class Dropped>
  void drop_unsubmitted(Dropped dropped);

  /// Calls `completed(user data, result)` for all that is done.  False: there may be more; call
  /// again.
  template <class Completed>
  bool collect(Completed completed);
  /// Blocks until at least one entry is done.  For shutdown only.
  void wait();

  /// False once another thread has become the ring's.
  bool on_its_thread() const;

 private:
  Ring() = default;
  Status set_up(std::uint32_t depth);
  void start();
  /// Lets the kernel post what it has finished; false on an error that will not pass by itself now.
  bool run_kernel_work();

  io_uring ring_{};
  bool made_ = false;
  bool started_ = false;
  std::thread::id thread_;
  Descriptor event_;
};

template <class Dropped>
void Ring::drop_unsubmitted(Dropped dropped) {
  // Without SQPOLL the kernel reads the queue only inside our submit(), so entries past its head
  // are ours to rewrite; as no-ops without user data they are skipped when they come back.
  for (unsigned at = *ring_.sq.khead; at != ring_.sq.sqe_tail; ++at) {
    io_uring_sqe* entry = &ring_.sq.sqes[at & ring_.sq.ring_mask];
    void* data = reinterpret_cast<void*>(entry->user_data);
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data(entry, nullptr);
    if (data != nullptr) dropped(data);
  }
}

template <class Completed>
bool Ring::collect(Completed completed) {
  constexpr int kRoundsMax = 16;  // new completions must not keep the caller's thread for ever
  for (int round = 0; round < kRoundsMax; ++round) {
    unsigned head = 0;
    unsigned count = 0;
    io_uring_cqe* entry = nullptr;
    io_uring_for_each_cqe(&ring_, head, entry) {
      ++count;
      if (void* data = io_uring_cqe_get_data(entry); data != nullptr) completed(data, entry->res);
    }
    io_uring_cq_advance(&ring_, count);
    const unsigned flags = IO_URING_READ_ONCE(*ring_.sq.kflags);
    if ((flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) == 0) return true;
    if (!run_kernel_work()) return false;
  }
  return false;
}

}  // namespace cairn::io

#include "engine/io/uring_device.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <deque>
#include <exception>
#include <functional>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/units.h"
#include "engine/env/run_on.h"
#include "engine/io/direct_file.h"
#include "engine/io/open_files.h"
#include "engine/io/pinned_ranges.h"
#include "engine/io/ring.h"

namespace cairn::io {
namespace asio = boost::asio;
namespace {

/// One operation moves at most this much and then reports a short result: its length has 32 bits.
constexpr std::uint64_t kTransferBytesMax = 1 * kGiB;
/// Resubmissions of one operation that the kernel interrupted or had no memory for.
constexpr std::uint32_t kResubmitsMax = 1000;
/// The kernel refused new entries: it is asked again after this pause, at most so many times in a
/// row (about ten seconds), then the entries fail with -EIO.
constexpr auto kRefusedPause = std::chrono::milliseconds(1);
constexpr std::uint32_t kRefusalsMax = 8000;
constexpr std::uint32_t kDepthMax = 4096;

enum class Kind : std::uint8_t { kRead, kWrite, kFlush, kPunch };

struct Request {
  Kind kind;
  env::DeviceFile file;
  std::uint64_t offset;
  std::byte* data;  ///< null for flush and punch
  std::uint64_t length;
};

struct Operation {
  Request request;
  OpenFile* file;
  std::uint32_t resubmits;
  asio::any_completion_handler<void(int)> handler;
};

/// Operations wait in queue_ until one posted submit() per round of the executor moves them to the
/// kernel; collect() runs when the eventfd fires, and resumes the callers through the executor.
class UringDevice final : public env::BlockDevice {
 public:
  UringDevice(asio::io_context& context, UringOptions options, std::unique_ptr<Ring> ring);
  ~UringDevice() override;
  /// Hangs the ring's eventfd into the context.
  Status attach();

  Task<Result<env::DeviceFile>> open(std::string path, env::DeviceOpen mode,
                                     std::uint64_t allocate_bytes) override;
  void close(env::DeviceFile handle) override;
  Task<int> write_at(env::DeviceFile file, std::uint64_t offset, Bytes data) override {
    // The kernel only reads from it.
    return start({Kind::kWrite, file, offset, const_cast<std::byte*>(data.data()), data.size()});
  }
  Task<int> read_at(env::DeviceFile file, std::uint64_t offset, MutableBytes into) override {
    return start({Kind::kRead, file, offset, into.data(), into.size()});
  }
  Task<int> flush(env::DeviceFile file) override {
    return start({Kind::kFlush, file, 0, nullptr, 0});
  }
  Task<int> punch(env::DeviceFile file, std::uint64_t offset, std::uint64_t length) override {
    return start({Kind::kPunch, file, offset, nullptr, length});
  }
  Task<int> truncate(env::DeviceFile handle, std::uint64_t length) override;
  std::int64_t next_data(env::DeviceFile handle, std::uint64_t from) override;
  Result<std::uint64_t> file_bytes(env::DeviceFile handle) override;
  std::unique_ptr<env::RegisteredMemory> register_memory(MutableBytes memory) override;

  UringStats stats() const { return stats_; }

 private:
  using Handler = asio::any_completion_handler<void(int)>;

  Task<int> start(Request request);
  void enqueue(const Request& request, Handler handler);
  Operation& new_operation(const Request& request, OpenFile& file, Handler handler);
  void schedule_submit();
  void submit();
  void submit_again_later(int error);
  void prepare(Operation& operation);

  void watch();
  void collect();
  void completed(Operation& operation, int result);
  void finish(Operation& operation, int result);
  void count(const Request& request, int result);
  void resume(Handler handler, int result);

  /// A handler for the context that does nothing once the device is gone: the context outlives it.
  template <class Call>
  auto while_alive(Call call) {
    return
        [alive = std::weak_ptr<const bool>(alive_), call = std::move(call)](auto&&... arguments) {
          if (!alive.expired()) call(arguments...);
        };
  }

  const UringOptions options_;
  asio::io_context& context_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::unique_ptr<Ring> ring_;
  asio::posix::stream_descriptor event_;
  /// Longer than the eventfd's counter, so that a read of it is short and Asio does not try
  /// another.
  std::array<std::uint64_t, 2> event_count_{};
  asio::steady_timer refused_;
  std::uint32_t refusals_ = 0;
  UringStats stats_;

  OpenFiles files_;
  PinnedRanges pinned_;

  std::deque<Operation> operations_;  ///< never shrinks: bounded by depth and queue
  std::vector<Operation*> free_operations_;
  std::deque<Operation*> queue_;
  std::uint32_t in_flight_ = 0;  ///< given to the ring, completion not seen
  bool submit_scheduled_ = false;
  bool refused_waiting_ = false;
  bool watching_ = false;

  asio::thread_pool helper_{1};  ///< last: frames that die with it may still call close()
};

UringDevice::UringDevice(asio::io_context& context, UringOptions options,
                         std::unique_ptr<Ring> ring)
    : options_(options),
      context_(context),
      ring_(std::move(ring)),
      event_(context),
      refused_(context),
      files_(*ring_, options.registered_files),
      pinned_(*ring_, options.register_buffers) {
  stats_.registered_files = files_.registered();
}

Status UringDevice::attach() {
  boost::system::error_code error;
  event_.assign(ring_->event_fd(), error);
  if (error) return status_from_errno(error.value(), "watch the eventfd of io_uring");
  return {};
}

UringDevice::~UringDevice() {
  alive_.reset();
  helper_.stop();
  helper_.join();
  CAIRN_CHECK(in_flight_ == 0 || ring_->on_its_thread());
  ring_->drop_unsubmitted([this](void*) { --in_flight_; });
  // The kernel may still read from and write into memory that is about to be freed.
  while (in_flight_ > 0) {
    ring_->wait();
    ring_->collect([this](void*, int) { --in_flight_; });
  }
  // Coroutines that wait here never go on; their frames may call close() while they die.
  std::vector<Handler> abandoned;
  for (Operation& operation : operations_) abandoned.push_back(std::move(operation.handler));
  abandoned.clear();
  if (event_.is_open()) event_.release();  // the ring owns it
}

// ---- files --------------------------------------------------------------------------------------

Task<Result<env::DeviceFile>> UringDevice::open(std::string path, env::DeviceOpen mode,
                                                std::uint64_t allocate_bytes) {
  auto work = [path, mode, allocate_bytes] { return open_direct(path, mode, allocate_bytes); };
  CO_TRY(Descriptor descriptor, co_await run_on(helper_.get_executor(), std::move(work)));
  co_return files_.add(std::move(descriptor));
}

void UringDevice::close(env::DeviceFile handle) { files_.close(handle, helper_.get_executor()); }

Task<int> UringDevice::truncate(env::DeviceFile handle, std::uint64_t length) {
  OpenFile* file = files_.find(handle);
  if (file == nullptr) co_return -EBADF;
  files_.acquire(*file);
  auto work = [file, length] { return cut(file->descriptor, length); };
  const int result = co_await run_on(helper_.get_executor(), std::move(work));
  files_.release(*file, helper_.get_executor());
  co_return result;
}

std::int64_t UringDevice::next_data(env::DeviceFile handle, std::uint64_t from) {
  const OpenFile* file = files_.find(handle);
  return file == nullptr ? -EBADF : next_data_of(file->descriptor, from);
}

Result<std::uint64_t> UringDevice::file_bytes(env::DeviceFile handle) {
  const OpenFile* file = files_.find(handle);
  const std::int64_t bytes = file == nullptr ? -EBADF : length_of(file->descriptor);
  if (bytes >= 0) return static_cast<std::uint64_t>(bytes);
  return fail(status_from_errno(static_cast<int>(-bytes),
                                "length of device file " + std::to_string(handle.value)));
}

std::unique_ptr<env::RegisteredMemory> UringDevice::register_memory(MutableBytes memory) {
  struct Registered final : env::RegisteredMemory {
    explicit Registered(std::function<void()> end_in) : end(std::move(end_in)) {}
    ~Registered() override { end(); }
    std::function<void()> end;
  };
  if (!pinned_.add(memory)) return nullptr;
  stats_.fixed_buffers = true;
  return std::make_unique<Registered>(while_alive([this, memory] { pinned_.remove(memory); }));
}

// ---- submission: once per round of the executor, so that a burst costs one system call ----------

Task<int> UringDevice::start(Request request) {
  CAIRN_CHECK(request.kind == Kind::kFlush || request.kind == Kind::kPunch ||
              (is_aligned(request.offset, kPageBytes) && is_aligned(request.length, kPageBytes) &&
               is_aligned(reinterpret_cast<std::uintptr_t>(request.data), kPageBytes)));
  auto initiate = [this, request](auto handler) { enqueue(request, std::move(handler)); };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(int)>(std::move(initiate),
                                                                        asio::use_awaitable);
}

void UringDevice::enqueue(const Request& request, Handler handler) {
  OpenFile* file = files_.find(request.file);
  if (file == nullptr) return resume(std::move(handler), -EBADF);
  // The free part of the ring takes the head of the queue at the end of this round.
  const std::size_t waiting_max = kDeviceQueueMax + (options_.depth - in_flight_);
  if (queue_.size() >= waiting_max) return resume(std::move(handler), -EAGAIN);
  files_.acquire(*file);
  queue_.push_back(&new_operation(request, *file, std::move(handler)));
  schedule_submit();
}

Operation& UringDevice::new_operation(const Request& request, OpenFile& file, Handler handler) {
  if (free_operations_.empty()) free_operations_.push_back(&operations_.emplace_back());
  Operation& operation = *free_operations_.back();
  free_operations_.pop_back();
  operation.request = request;
  operation.file = &file;
  operation.resubmits = 0;
  // Not assigned: the move assignment of Boost 1.81's any_completion_handler calls itself for ever.
  operation.handler.swap(handler);
  return operation;
}

void UringDevice::schedule_submit() {
  if (submit_scheduled_) return;
  submit_scheduled_ = true;
  asio::post(context_, while_alive([this] {
               submit_scheduled_ = false;
               submit();
             }));
}

void UringDevice::submit() {
  while (!queue_.empty() && in_flight_ < options_.depth && ring_->has_room()) {
    Operation& operation = *queue_.front();
    queue_.pop_front();
    prepare(operation);
    ++in_flight_;
  }
  stats_.in_flight_max = std::max(stats_.in_flight_max, in_flight_);
  if (ring_->is_empty()) return watch();
  ++stats_.submit_calls;
  if (const int error = ring_->submit(); error == 0) {
    refusals_ = 0;
  } else {
    submit_again_later(error);
  }
  watch();
}

void UringDevice::submit_again_later(int error) {
  if (Ring::is_transient(error) && ++refusals_ < kRefusalsMax) {
    if (std::exchange(refused_waiting_, true)) return;
    refused_.expires_after(kRefusedPause);
    refused_.async_wait(while_alive([this](const boost::system::error_code&) {
      refused_waiting_ = false;
      submit();
    }));
    return;
  }
  refusals_ = 0;
  log_error("io", std::string(status_from_errno(-error, "submit to io_uring").message()) +
                      "; the operations fail");
  ring_->drop_unsubmitted([this](void* data) {
    --in_flight_;
    finish(*static_cast<Operation*>(data), -EIO);
  });
  if (!queue_.empty()) schedule_submit();
}

void UringDevice::prepare(Operation& operation) {
  const Request& request = operation.request;
  const OpenFile& file = *operation.file;
  io_uring_sqe* entry = ring_->next_entry();
  const int fd = file.slot != OpenFile::kNoSlot ? file.slot : file.descriptor.get();
  const auto length = static_cast<unsigned>(std::min(request.length, kTransferBytesMax));
  const int range = pinned_.slot_of(request.data, request.length);
  switch (request.kind) {
    case Kind::kRead:
      if (range >= 0) {
        io_uring_prep_read_fixed(entry, fd, request.data, length, request.offset, range);
      } else {
        io_uring_prep_read(entry, fd, request.data, length, request.offset);
      }
      break;
    case Kind::kWrite:
      if (range >= 0) {
        io_uring_prep_write_fixed(entry, fd, request.data, length, request.offset, range);
      } else {
        io_uring_prep_write(entry, fd, request.data, length, request.offset);
      }
      break;
    case Kind::kFlush:
      io_uring_prep_fsync(entry, fd, IORING_FSYNC_DATASYNC);
      break;
    case Kind::kPunch:
      io_uring_prep_fallocate(entry, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(request.offset),
                              static_cast<off_t>(request.length));
      break;
  }
  if (file.slot != OpenFile::kNoSlot) entry->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data(entry, &operation);
}

// ---- completion ---------------------------------------------------------------------------------

/// Only while something is in flight: an idle device does not keep the context running.
void UringDevice::watch() {
  if (watching_ || in_flight_ == 0) return;
  watching_ = true;
  event_.async_read_some(asio::buffer(event_count_),
                         while_alive([this](const boost::system::error_code&, std::size_t) {
                           watching_ = false;
                           collect();
                         }));
}

void UringDevice::collect() {
  const bool all = ring_->collect(
      [this](void* data, int result) { completed(*static_cast<Operation*>(data), result); });
  if (!all) asio::post(context_, while_alive([this] { collect(); }));
  // Posted behind the resumed callers, so that what they start goes to the kernel with it.
  if (!queue_.empty()) schedule_submit();
  watch();
}

void UringDevice::completed(Operation& operation, int result) {
  --in_flight_;
  // A flush is never repeated: the kernel may have dropped what it could not write.
  const bool passing = result == -EINTR || result == -EAGAIN;
  if (passing && operation.request.kind != Kind::kFlush && operation.resubmits < kResubmitsMax) {
    ++operation.resubmits;
    ++stats_.resubmitted;
    queue_.push_front(&operation);
    return;
  }
  count(operation.request, result);
  finish(operation, result);
}

void UringDevice::finish(Operation& operation, int result) {
  Handler handler = std::move(operation.handler);
  free_operations_.push_back(&operation);
  files_.release(*operation.file, helper_.get_executor());
  resume(std::move(handler), result);
}

void UringDevice::count(const Request& request, int result) {
  const auto bytes = static_cast<std::uint64_t>(std::max(result, 0));
  switch (request.kind) {
    case Kind::kRead:
      ++stats_.reads;
      stats_.read_bytes += bytes;
      break;
    case Kind::kWrite:
      ++stats_.writes;
      stats_.written_bytes += bytes;
      break;
    case Kind::kFlush:
      ++stats_.flushes;
      break;
    case Kind::kPunch:
      ++stats_.punches;
      break;
  }
}

/// Never from inside the call that started the operation, nor from inside collect(): the caller may
/// destroy the device.
void UringDevice::resume(Handler handler, int result) {
  asio::post(context_,
             [handler = std::move(handler), result]() mutable { std::move(handler)(result); });
}

}  // namespace

Result<std::unique_ptr<env::BlockDevice>> make_uring_device(asio::io_context& context,
                                                            UringOptions options) {
  if (options.depth == 0 || options.depth > kDepthMax) {
    return fail(Code::kInvalid, "device depth is " + std::to_string(options.depth) +
                                    "; it must be between 1 and " + std::to_string(kDepthMax));
  }
  TRY(auto ring, Ring::make(options.depth));
  std::unique_ptr<UringDevice> device;
  try {  // Asio throws when a thread or its own descriptors can't be had
    device = std::make_unique<UringDevice>(context, options, std::move(ring));
  } catch (const std::exception& error) {
    return fail(Code::kUnavailable, std::string("io_uring device: ") + error.what());
  }
  TRY_VOID(device->attach());
  return device;
}

UringStats uring_stats(const env::BlockDevice& device) {
  const auto* uring = dynamic_cast<const UringDevice*>(&device);
  CAIRN_CHECK(uring != nullptr);
  return uring->stats();
}

}  // namespace cairn::io

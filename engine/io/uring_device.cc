#include "engine/io/uring_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/base/log.h"
#include "engine/env/run_on.h"
#include "engine/io/direct_file.h"
#include "engine/io/ring.h"

namespace cairn::io {
namespace asio = boost::asio;
namespace {

/// Memory ranges that can be registered; a target has two pools.
constexpr std::uint32_t kMemoryRangesMax = 8;
/// Resubmissions of one operation that the kernel interrupted or had no memory for.
constexpr std::uint32_t kRetriesMax = 1000;
/// Pause before the kernel is asked again to take entries that it refused.
constexpr auto kSubmitRetryAfter = std::chrono::milliseconds(1);
constexpr int kNoSlot = -1;

enum class Kind : std::uint8_t { kRead, kWrite, kFlush, kPunch };

struct OpenFile {
  Descriptor descriptor;
  int slot = kNoSlot;           ///< in the ring's table of files
  std::uint32_t in_use = 0;     ///< operations queued, in flight, or on the helper thread
  bool closing = false;
};

struct Operation {
  Kind kind;
  env::DeviceFile file;
  std::uint64_t offset;
  std::byte* data;  ///< null for flush and punch
  std::uint64_t length;
  std::uint32_t retries = 0;
  asio::any_completion_handler<void(int)> handler;
};

class UringDevice final : public env::BlockDevice {
 public:
  UringDevice(asio::io_context& context, UringOptions options, std::unique_ptr<Ring> ring)
      : options_(options),
        executor_(context.get_executor()),
        ring_(std::move(ring)),
        event_(context, ring_->event_fd()),
        retry_(context),
        helper_(1) {
    Status files = ring_->register_files(options_.registered_files);
    if (files.ok()) {
      for (int slot = static_cast<int>(options_.registered_files) - 1; slot >= 0; --slot) {
        free_slots_.push_back(slot);
      }
    } else {
      log_info("io", "files are not registered with io_uring: " + files.to_string());
    }
    stats_.registered_files = !free_slots_.empty();
    if (options_.register_buffers) {
      Status memory = ring_->register_buffers(kMemoryRangesMax);
      if (!memory.ok()) say_no_fixed_buffers(memory);
      buffers_ready_ = memory.ok();
    }
  }

  ~UringDevice() override {
    helper_.join();
    queue_.clear();
    ring_->drop_unsubmitted([this](void* data) { forget(static_cast<Operation*>(data)); });
    // The kernel may still write into memory that is about to be freed.
    while (!in_flight_.empty()) {
      ring_->wait();
      ring_->collect([this](void* data, int) { forget(static_cast<Operation*>(data)); });
    }
    event_.release();  // the ring owns it
  }

  Task<Result<env::DeviceFile>> open(std::string path, env::DeviceOpen mode,
                                     std::uint64_t allocate_bytes) override {
    auto work = [path, mode, allocate_bytes] { return open_direct(path, mode, allocate_bytes); };
    auto opened = co_await run_on(helper_.get_executor(), std::move(work));
    if (!opened) co_return fail(std::move(opened).error());
    const env::DeviceFile handle{++last_file_};
    OpenFile& file = files_[handle.value];
    file.descriptor = *std::move(opened);
    if (!free_slots_.empty() && ring_->set_file(static_cast<std::uint32_t>(free_slots_.back()),
                                                file.descriptor.get())) {
      file.slot = free_slots_.back();
      free_slots_.pop_back();
    }
    co_return handle;
  }

  void close(env::DeviceFile handle) override {
    const auto found = files_.find(handle.value);
    if (found == files_.end()) return;
    found->second.closing = true;
    close_if_unused(found->first, found->second);
  }

  Task<int> write_at(env::DeviceFile file, std::uint64_t offset, Bytes data) override {
    // The kernel only reads from it.
    return start(Kind::kWrite, file, offset, const_cast<std::byte*>(data.data()), data.size());
  }
  Task<int> read_at(env::DeviceFile file, std::uint64_t offset, MutableBytes into) override {
    return start(Kind::kRead, file, offset, into.data(), into.size());
  }
  Task<int> flush(env::DeviceFile file) override {
    return start(Kind::kFlush, file, 0, nullptr, 0);
  }
  Task<int> punch(env::DeviceFile file, std::uint64_t offset, std::uint64_t length) override {
    return start(Kind::kPunch, file, offset, nullptr, length);
  }

  Task<int> truncate(env::DeviceFile handle, std::uint64_t length) override {
    OpenFile* file = usable(handle);
    if (file == nullptr) co_return -EBADF;
    ++file->in_use;
    const int fd = file->descriptor.get();
    auto work = [fd, length] {
      return ::ftruncate(fd, static_cast<off_t>(length)) == 0 ? 0 : -errno;
    };
    const int result = co_await run_on(helper_.get_executor(), std::move(work));
    release(handle);
    co_return result;
  }

  std::int64_t next_data(env::DeviceFile handle, std::uint64_t from) override {
    OpenFile* file = usable(handle);
    if (file == nullptr) return -EBADF;
    const off_t at = ::lseek(file->descriptor.get(), static_cast<off_t>(from), SEEK_DATA);
    if (at >= 0) return at;
    if (errno == ENXIO) return ::lseek(file->descriptor.get(), 0, SEEK_END);
    return errno == EINVAL ? static_cast<std::int64_t>(from) : -errno;
  }

  Result<std::uint64_t> file_bytes(env::DeviceFile handle) override {
    OpenFile* file = usable(handle);
    struct stat info {};
    if (file == nullptr || ::fstat(file->descriptor.get(), &info) != 0) {
      return fail(status_from_errno(file == nullptr ? EBADF : errno, "file length"));
    }
    return static_cast<std::uint64_t>(info.st_size);
  }

  void register_memory(MutableBytes memory) override {
    if (!buffers_ready_ || ranges_.size() == kMemoryRangesMax) return;
    Status set = ring_->set_buffer(static_cast<std::uint32_t>(ranges_.size()), memory);
    if (!set.ok()) return say_no_fixed_buffers(set);
    ranges_.push_back(memory);
    stats_.fixed_buffers = true;
  }

  UringStats stats() const { return stats_; }

 private:
  static void say_no_fixed_buffers(const Status& why) {
    log_info("io", "memory is not registered with io_uring, transfers cost a little more CPU: " +
                       why.to_string());
  }

  OpenFile* usable(env::DeviceFile handle) {
    const auto found = files_.find(handle.value);
    return found == files_.end() || found->second.closing ? nullptr : &found->second;
  }

  void release(env::DeviceFile handle) {
    OpenFile& file = files_.at(handle.value);
    --file.in_use;
    close_if_unused(handle.value, file);
  }

  void close_if_unused(std::uint64_t key, OpenFile& file) {
    if (!file.closing || file.in_use != 0) return;
    if (file.slot != kNoSlot) {
      ring_->set_file(static_cast<std::uint32_t>(file.slot), -1);
      free_slots_.push_back(file.slot);
    }
    files_.erase(key);
  }

  Task<int> start(Kind kind, env::DeviceFile handle, std::uint64_t offset, std::byte* data,
                  std::uint64_t length) {
    OpenFile* file = usable(handle);
    if (file == nullptr) co_return -EBADF;
    if (queue_.size() >= kDeviceQueueMax) co_return -EAGAIN;
    ++file->in_use;
    auto enqueue = [this, kind, handle, offset, data, length](auto handler) {
      auto operation = std::make_unique<Operation>(
          Operation{kind, handle, offset, data, length, 0, std::move(handler)});
      queue_.push_back(std::move(operation));
      schedule_submit();
    };
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(int)>(
        std::move(enqueue), asio::use_awaitable);
  }

  // ---- submission: once per round of the executor, so that a burst costs one system call --------

  void schedule_submit() {
    if (submit_scheduled_) return;
    submit_scheduled_ = true;
    asio::post(executor_, [this] {
      submit_scheduled_ = false;
      submit();
    });
  }

  void submit() {
    while (!queue_.empty() && in_flight_.size() < options_.depth) {
      std::unique_ptr<Operation> operation = std::move(queue_.front());
      queue_.pop_front();
      prepare(*operation);
      Operation* key = operation.get();
      in_flight_.emplace(key, std::move(operation));
    }
    stats_.in_flight_max =
        std::max(stats_.in_flight_max, static_cast<std::uint32_t>(in_flight_.size()));
    if (in_flight_.empty()) return;
    ++stats_.submit_calls;
    if (!ring_->submit() && !retrying_) {
      retrying_ = true;
      retry_.expires_after(kSubmitRetryAfter);
      retry_.async_wait([this](boost::system::error_code error) {
        if (error == asio::error::operation_aborted) return;
        retrying_ = false;
        submit();
      });
    }
    watch();
  }

  void prepare(Operation& operation) {
    const OpenFile& file = files_.at(operation.file.value);
    io_uring_sqe* entry = ring_->next_entry();
    const int fd = file.slot != kNoSlot ? file.slot : file.descriptor.get();
    const auto length = static_cast<unsigned>(operation.length);
    const int range = operation.data != nullptr ? range_of(operation) : -1;
    switch (operation.kind) {
      case Kind::kRead:
        if (range >= 0) {
          io_uring_prep_read_fixed(entry, fd, operation.data, length, operation.offset, range);
        } else {
          io_uring_prep_read(entry, fd, operation.data, length, operation.offset);
        }
        break;
      case Kind::kWrite:
        if (range >= 0) {
          io_uring_prep_write_fixed(entry, fd, operation.data, length, operation.offset, range);
        } else {
          io_uring_prep_write(entry, fd, operation.data, length, operation.offset);
        }
        break;
      case Kind::kFlush: io_uring_prep_fsync(entry, fd, IORING_FSYNC_DATASYNC); break;
      case Kind::kPunch:
        io_uring_prep_fallocate(entry, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(operation.offset),
                                static_cast<off_t>(operation.length));
        break;
    }
    if (file.slot != kNoSlot) entry->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data(entry, &operation);
  }

  /// Slot of the registered memory that holds all of the operation's, or -1.
  int range_of(const Operation& operation) const {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const std::byte* begin = ranges_[i].data();
      const std::byte* end = begin + ranges_[i].size();
      if (operation.data >= begin && operation.data + operation.length <= end) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  // ---- completion --------------------------------------------------------------------------------

  void watch() {
    if (watching_ || in_flight_.empty()) return;
    watching_ = true;
    event_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](boost::system::error_code error) {
                        if (error == asio::error::operation_aborted) return;
                        watching_ = false;
                        collect();
                      });
  }

  void collect() {
    std::uint64_t ignored;
    [[maybe_unused]] const auto got = ::read(ring_->event_fd(), &ignored, sizeof ignored);
    std::vector<std::pair<std::unique_ptr<Operation>, int>> done;
    const bool all = ring_->collect([this, &done](void* data, int result) {
      auto node = in_flight_.extract(static_cast<Operation*>(data));
      done.emplace_back(std::move(node.mapped()), result);
    });
    if (!all) asio::post(executor_, [this] { collect(); });
    for (auto& [operation, result] : done) finish(std::move(operation), result);
    if (!queue_.empty()) schedule_submit();
    watch();
  }

  void finish(std::unique_ptr<Operation> operation, int result) {
    // A flush is never repeated: the kernel may have dropped what it could not write.
    const bool passing = result == -EINTR || result == -EAGAIN;
    if (passing && operation->kind != Kind::kFlush && operation->retries < kRetriesMax) {
      ++operation->retries;
      ++stats_.resubmitted;
      queue_.push_front(std::move(operation));
      return schedule_submit();
    }
    count(*operation, result);
    release(operation->file);
    std::move(operation->handler)(result);
  }

  void count(const Operation& operation, int result) {
    const auto bytes = static_cast<std::uint64_t>(std::max(result, 0));
    switch (operation.kind) {
      case Kind::kRead:
        ++stats_.reads;
        stats_.read_bytes += bytes;
        break;
      case Kind::kWrite:
        ++stats_.writes;
        stats_.written_bytes += bytes;
        break;
      case Kind::kFlush: ++stats_.flushes; break;
      case Kind::kPunch: ++stats_.punches; break;
    }
  }

  void forget(Operation* operation) { in_flight_.erase(operation); }

  UringOptions options_;
  Executor executor_;
  std::unique_ptr<Ring> ring_;
  asio::posix::stream_descriptor event_;
  asio::steady_timer retry_;
  asio::thread_pool helper_;
  UringStats stats_;
  std::uint64_t last_file_ = 0;
  std::unordered_map<std::uint64_t, OpenFile> files_;
  std::vector<int> free_slots_;
  std::vector<MutableBytes> ranges_;
  bool buffers_ready_ = false;
  std::deque<std::unique_ptr<Operation>> queue_;
  std::unordered_map<Operation*, std::unique_ptr<Operation>> in_flight_;
  bool submit_scheduled_ = false;
  bool watching_ = false;
  bool retrying_ = false;
};

}  // namespace

Result<std::unique_ptr<env::BlockDevice>> make_uring_device(asio::io_context& context,
                                                            UringOptions options) {
  CAIRN_CHECK(options.depth > 0);
  TRY(auto ring, Ring::make(options.depth));
  return std::make_unique<UringDevice>(context, options, std::move(ring));
}

UringStats uring_stats(const env::BlockDevice& device) {
  const auto* uring = dynamic_cast<const UringDevice*>(&device);
  CAIRN_CHECK(uring != nullptr);
  return uring->stats();
}

}  // namespace cairn::io

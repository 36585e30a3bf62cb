// The io_uring device alone: 1 MiB transfers as the store makes them, and 4 KiB reads, where the
// cost of an operation shows.  The ceiling to put beside it is fio on the same folder:
//   fio --name=w --filename=DIR/f --rw=write --bs=1M --size=512M --ioengine=io_uring --direct=1
//       --iodepth=8 --mem=malloc
// CAIRN_BENCH_DIR says where the file goes (default: the working directory).
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/units.h"
#include "engine/env/sync.h"
#include "engine/io/piece_pool.h"
#include "engine/io/transfer.h"
#include "engine/io/uring_device.h"

namespace cairn {
namespace {

constexpr std::uint64_t kFileBytes = 512 * kMiB;
constexpr std::uint64_t kSmallReads = 20'000;

[[noreturn]] void give_up(const Status& status) {
  std::fprintf(stderr, "io_bench: %s\n", status.to_string().c_str());
  std::exit(1);
}

/// User and system time of this process, its io_uring workers included; not the kernel's own
/// threads.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One file on one device, and workers that share it.
class Rig {
 public:
  Rig(std::uint32_t depth, bool register_buffers)
      : depth_(depth), path_(folder() + "/cairn-io-bench-" + std::to_string(::getpid())) {
    io::UringOptions options;
    options.depth = depth;
    options.register_buffers = register_buffers;
    pool_ = must(io::PiecePool::make(context_.get_executor(), depth));
    device_ = must(io::make_uring_device(context_, options));
    registered_ = device_->register_memory(pool_->memory());
    std::memset(pool_->memory().data(), 0x5a, 1);
  }
  ~Rig() {
    registered_.reset();
    device_.reset();
    context_.restart();
    context_.run();
    ::unlink(path_.c_str());
  }

  void make_file(bool prewritten) {
    if (file_.value != 0) device_->close(file_);
    ::unlink(path_.c_str());
    ::sync();  // the blocks of the last file must not be freed while we measure
    Task<Result<env::DeviceFile>> opening =
        device_->open(path_, env::DeviceOpen::kCreate, kFileBytes);
    file_ = must(run(std::move(opening)));
    if (prewritten) transfer(true);
    flush();
  }

  void flush() { must(run(io::flush(*device_, file_))); }

  /// Moves the whole file in pieces, `depth` at a time.
  void transfer(bool write) {
    next_ = 0;
    must(run(all_workers(write)));
  }

  void read_small(std::uint64_t count) {
    next_ = 0;
    must(run(all_small_readers(count)));
  }

  bool huge_pages() const { return pool_->huge_pages(); }

 private:
  static std::string folder() {
    const char* given = std::getenv("CAIRN_BENCH_DIR");
    return given != nullptr ? given : ".";
  }

  template <class T>
  static T must(Result<T> result) {
    if (!result.has_value()) give_up(result.error());
    return *std::move(result);
  }
  static void must(const Status& status) {
    if (!status.ok()) give_up(status);
  }

  template <class T>
  T run(Task<T> task) {
    std::optional<T> value;
    auto finished = [&value](std::exception_ptr error, T result) {
      if (error) std::terminate();
      value.emplace(std::move(result));
    };
    boost::asio::co_spawn(context_, std::move(task), std::move(finished));
    context_.restart();
    context_.run();
    return std::move(value).value();
  }

  Task<Status> all_workers(bool write) {
    TaskGroup group(context_.get_executor());
    for (std::uint32_t i = 0; i < depth_; ++i) group.spawn(worker(write));
    co_return co_await group.join();
  }
  Task<Status> worker(bool write) {
    const io::Piece piece = co_await pool_->acquire();
    while (next_ < kFileBytes) {
      const std::uint64_t offset = std::exchange(next_, next_ + kPieceBytes);
      if (write) {
        CO_TRY_VOID(co_await io::write_fully(*device_, file_, offset, piece.memory()));
      } else {
        CO_TRY_VOID(co_await io::read_fully(*device_, file_, offset, piece.memory()));
      }
    }
    co_return Status();
  }

  Task<Status> all_small_readers(std::uint64_t count) {
    TaskGroup group(context_.get_executor());
    for (std::uint32_t i = 0; i < depth_; ++i) group.spawn(small_reader(count));
    co_return co_await group.join();
  }
  Task<Status> small_reader(std::uint64_t count) {
    const io::Piece piece = co_await pool_->acquire();
    while (next_ < count) {
      ++next_;
      const std::uint64_t offset = random_.below(kFileBytes / kPageBytes) * kPageBytes;
      CO_TRY_VOID(
          co_await io::read_fully(*device_, file_, offset, piece.memory().first(kPageBytes)));
    }
    co_return Status();
  }

  std::uint32_t depth_;
  std::string path_;
  boost::asio::io_context context_;
  std::unique_ptr<io::PiecePool> pool_;
  std::unique_ptr<env::BlockDevice> device_;
  std::unique_ptr<env::RegisteredMemory> registered_;
  env::DeviceFile file_;
  std::uint64_t next_ = 0;
  SplitMix64 random_{1};
};

void report(benchmark::State& state, std::uint64_t bytes, double cpu, const Rig& rig) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.counters["cpu_s_per_GiB"] = cpu / (static_cast<double>(bytes) / static_cast<double>(kGiB));
  state.counters["huge_pages"] = rig.huge_pages() ? 1 : 0;
}

/// Arguments: depth, prewritten file, registered memory.
void write_pieces(benchmark::State& state) {
  Rig rig(static_cast<std::uint32_t>(state.range(0)), state.range(2) != 0);
  const bool prewritten = state.range(1) != 0;
  rig.make_file(prewritten);
  double cpu = 0;
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const double before = cpu_seconds();
    rig.transfer(true);
    cpu += cpu_seconds() - before;
    bytes += kFileBytes;
    state.PauseTiming();
    if (!prewritten) rig.make_file(false);
    state.ResumeTiming();
  }
  report(state, bytes, cpu, rig);
}
BENCHMARK(write_pieces)
    ->ArgNames({"depth", "prewritten", "registered"})
    ->Args({8, 1, 1})
    ->Args({8, 0, 1})
    ->Args({8, 1, 0})
    ->Args({16, 1, 1})
    ->Args({16, 0, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void read_pieces(benchmark::State& state) {
  Rig rig(static_cast<std::uint32_t>(state.range(0)), true);
  rig.make_file(true);
  double cpu = 0;
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const double before = cpu_seconds();
    rig.transfer(false);
    cpu += cpu_seconds() - before;
    bytes += kFileBytes;
  }
  report(state, bytes, cpu, rig);
}
BENCHMARK(read_pieces)
    ->ArgName("depth")
    ->Arg(8)
    ->Arg(16)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void read_pages(benchmark::State& state) {
  Rig rig(static_cast<std::uint32_t>(state.range(0)), true);
  rig.make_file(true);
  const double before = cpu_seconds();
  std::uint64_t reads = 0;
  for (auto _ : state) {
    rig.read_small(kSmallReads);
    reads += kSmallReads;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(reads));
  state.counters["cpu_us_per_read"] = (cpu_seconds() - before) * 1e6 / static_cast<double>(reads);
}
BENCHMARK(read_pages)
    ->ArgName("depth")
    ->Arg(1)
    ->Arg(16)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();

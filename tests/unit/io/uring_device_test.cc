// The io_uring device on a real folder: what comes back is what was written, and the rules about
// files, queue and shutdown.
#include "engine/io/uring_device.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <thread>

#include "engine/base/units.h"
#include "engine/env/sync.h"
#include "engine/io/piece_pool.h"
#include "engine/io/transfer.h"
#include "tests/unit/io/device_fixture.h"

namespace cairn::io {
namespace {

using env::DeviceOpen;
using testing::AlignedMemory;
using testing::fill_pattern;
using testing::has_pattern;
using testing::is_zero;

struct UringDeviceTest : testing::DeviceTest {
  UringDeviceTest() { make_device(); }
};

TEST_F(UringDeviceTest, ReadsBackWhatItWroteAfterReopening) {
  AlignedMemory data(3 * kMiB);
  fill_pattern(data.span(), 1);
  const auto file = create("file", 4 * kMiB);
  ASSERT_TRUE(run(write_fully(*device, file, kPageBytes, data.span())).ok());
  ASSERT_EQ(run(device->flush(file)), 0);
  device->close(file);
  const auto again = must_open("file", DeviceOpen::kRead);
  AlignedMemory back(3 * kMiB);
  ASSERT_TRUE(run(read_fully(*device, again, kPageBytes, back.span())).ok());
  EXPECT_TRUE(has_pattern(back.span(), 1));
  EXPECT_EQ(device->file_bytes(again).value(), 4 * kMiB);
}

TEST_F(UringDeviceTest, PinsRegisteredMemoryAndTakesOtherMemoryToo) {
  const auto pool = PiecePool::make(context.get_executor(), 2).value();
  const auto registered = device->register_memory(pool->memory());
  EXPECT_TRUE(uring_stats(*device).fixed_buffers);
  EXPECT_TRUE(uring_stats(*device).registered_files);
  const auto file = create("file", 4 * kMiB);
  auto body = [&]() -> Task<Status> {
    const Piece piece = co_await pool->acquire();
    AlignedMemory other(kMiB);
    fill_pattern(piece.memory(), 1);
    fill_pattern(other.span(), 2);
    CO_TRY_VOID(co_await write_fully(*device, file, 0, piece.memory()));
    CO_TRY_VOID(co_await write_fully(*device, file, kMiB, other.span()));
    // Crosswise, so that each kind of memory is read into as well.
    CO_TRY_VOID(co_await read_fully(*device, file, kMiB, piece.memory()));
    CO_TRY_VOID(co_await read_fully(*device, file, 0, other.span()));
    EXPECT_TRUE(has_pattern(piece.memory(), 2));
    EXPECT_TRUE(has_pattern(other.span(), 1));
    co_return Status();
  };
  EXPECT_TRUE(run(body()).ok());
}

TEST_F(UringDeviceTest, ForgetsRegisteredMemorySoThatItsAddressMayBeMappedAnew) {
  // The device would go on reading and writing the pages that were pinned before.
  void* address = nullptr;
  const auto map = [&address](int more_flags) {
    address = ::mmap(address, kPieceBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
    CAIRN_CHECK(address != MAP_FAILED);
    return MutableBytes(static_cast<std::byte*>(address), kPieceBytes);
  };
  const auto file = create("file", 2 * kPieceBytes);
  for (int round = 0; round < 20; ++round) {  // more than there are slots
    const MutableBytes memory = map(round == 0 ? 0 : MAP_FIXED_NOREPLACE);
    auto registered = device->register_memory(memory);
    EXPECT_TRUE(uring_stats(*device).fixed_buffers);
    fill_pattern(memory, round);
    ASSERT_TRUE(run(write_fully(*device, file, 0, memory)).ok());
    AlignedMemory back(kPieceBytes);
    ASSERT_TRUE(run(read_fully(*device, file, 0, back.span())).ok());
    EXPECT_TRUE(has_pattern(back.span(), round)) << "round " << round;
    registered.reset();
    ::munmap(address, kPieceBytes);
  }
}

TEST_F(UringDeviceTest, SaysWhenANameIsTakenOrMissing) {
  create("file", kMiB);
  EXPECT_EQ(run(device->open(folder / "file", DeviceOpen::kCreate, kMiB)).error().code(),
            Code::kExists);
  EXPECT_EQ(run(device->open(folder / "none", DeviceOpen::kReadWrite, 0)).error().code(),
            Code::kNotFound);
}

TEST_F(UringDeviceTest, PreallocatesRealBlocksThatReadAsZeros) {
  const auto file = create("file", 8 * kMiB);
  struct stat info{};
  ASSERT_EQ(::stat((folder / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, static_cast<off_t>(8 * kMiB));
  EXPECT_GE(info.st_blocks * 512, static_cast<off_t>(8 * kMiB));
  AlignedMemory back(kMiB);
  fill_pattern(back.span(), 3);
  EXPECT_EQ(read(file, 4 * kMiB, back.span()), static_cast<int>(kMiB));
  EXPECT_TRUE(is_zero(back.span()));
  EXPECT_EQ(read(file, 8 * kMiB, back.span()), 0);
}

TEST_F(UringDeviceTest, RefusesToWriteToAFileOpenedForReading) {
  create("file", kMiB);
  const auto file = must_open("file", DeviceOpen::kRead);
  AlignedMemory data(kPageBytes);
  EXPECT_EQ(write(file, 0, data.span()), -EBADF);
}

TEST_F(UringDeviceTest, PunchesARangeThatThenReadsAsZerosAndKeepsTheRest) {
  const auto file = create("file", 4 * kMiB);
  AlignedMemory data(4 * kMiB);
  fill_pattern(data.span(), 1);
  ASSERT_TRUE(run(write_fully(*device, file, 0, data.span())).ok());
  ASSERT_EQ(run(device->punch(file, kMiB, 2 * kMiB)), 0);
  AlignedMemory back(4 * kMiB);
  ASSERT_TRUE(run(read_fully(*device, file, 0, back.span())).ok());
  EXPECT_EQ(std::memcmp(back.span().data(), data.span().data(), kMiB), 0);
  EXPECT_TRUE(is_zero(back.span(kMiB, 2 * kMiB)));
  EXPECT_EQ(std::memcmp(back.span(3 * kMiB, kMiB).data(), data.span(3 * kMiB, kMiB).data(), kMiB),
            0);
  EXPECT_EQ(device->file_bytes(file).value(), 4 * kMiB);
  EXPECT_EQ(device->next_data(file, 0), 0);
  const std::int64_t after = device->next_data(file, kMiB);
  EXPECT_GE(after, static_cast<std::int64_t>(kMiB));
  EXPECT_LE(after, static_cast<std::int64_t>(3 * kMiB));  // never past data
}

TEST_F(UringDeviceTest, HopsOverPreallocatedSpaceToTheNextData) {
  const auto file = create("file", 64 * kMiB);
  AlignedMemory data(kMiB);
  fill_pattern(data.span(), 1);
  ASSERT_TRUE(run(write_fully(*device, file, 32 * kMiB, data.span())).ok());
  ASSERT_EQ(run(device->flush(file)), 0);
  const std::int64_t found = device->next_data(file, 0);
  EXPECT_GE(found, 0);
  EXPECT_LE(found, static_cast<std::int64_t>(32 * kMiB));
  const std::int64_t past = device->next_data(file, 33 * kMiB);
  EXPECT_GE(past, static_cast<std::int64_t>(33 * kMiB));
  EXPECT_LE(past, static_cast<std::int64_t>(64 * kMiB));
}

TEST_F(UringDeviceTest, CutsAFile) {
  const auto file = create("file", 4 * kMiB);
  ASSERT_EQ(run(device->truncate(file, kMiB)), 0);
  EXPECT_EQ(device->file_bytes(file).value(), kMiB);
}

TEST_F(UringDeviceTest, AnswersEbadfAfterCloseAndNeverReusesAHandle) {
  AlignedMemory page(kPageBytes);
  std::vector<env::DeviceFile> closed;
  for (int i = 0; i < 3; ++i) {
    closed.push_back(create("file" + std::to_string(i), kMiB));
    device->close(closed.back());
  }
  const auto open_now = create("other", kMiB);
  for (const env::DeviceFile file : closed) {
    EXPECT_NE(file, open_now);
    EXPECT_EQ(write(file, 0, page.span()), -EBADF);
    EXPECT_EQ(read(file, 0, page.span()), -EBADF);
    EXPECT_EQ(run(device->flush(file)), -EBADF);
    EXPECT_EQ(run(device->punch(file, 0, kPageBytes)), -EBADF);
    EXPECT_EQ(run(device->truncate(file, 0)), -EBADF);
    EXPECT_EQ(device->next_data(file, 0), -EBADF);
    EXPECT_EQ(device->file_bytes(file).error().code(), Code::kIo);
    device->close(file);
  }
}

TEST_F(UringDeviceTest, FinishesOperationsInFlightBeforeItClosesTheirFile) {
  const auto file = create("file", 64 * kMiB);
  AlignedMemory data(32 * kMiB);
  fill_pattern(data.span(), 1);
  auto body = [&]() -> Task<Status> {
    TaskGroup group(context.get_executor());
    for (std::uint64_t i = 0; i < 32; ++i) {
      group.spawn(write_fully(*device, file, i * kMiB, data.span(i * kMiB, kMiB)));
    }
    Event turn(context.get_executor());
    boost::asio::post(context, [&] { turn.set(); });
    co_await turn.wait();  // all 32 are queued now, 16 of them in flight
    device->close(file);
    AlignedMemory page(kPageBytes);
    EXPECT_EQ(co_await device->read_at(file, 0, page.span()), -EBADF);
    co_return co_await group.join();
  };
  EXPECT_TRUE(run(body()).ok());
  const auto again = must_open("file", DeviceOpen::kRead);
  AlignedMemory back(32 * kMiB);
  ASSERT_TRUE(run(read_fully(*device, again, 0, back.span())).ok());
  EXPECT_TRUE(has_pattern(back.span(), 1));
}

TEST_F(UringDeviceTest, SubmitsTheOperationsOfOneRoundWithOneCall) {
  const auto file = create("file", 16 * kMiB);
  AlignedMemory data(16 * kPageBytes);
  const auto before = uring_stats(*device).submit_calls;
  auto body = [&]() -> Task<Status> {
    TaskGroup group(context.get_executor());
    for (std::uint64_t i = 0; i < 16; ++i) {
      group.spawn(write_fully(*device, file, i * kMiB, data.span(i * kPageBytes, kPageBytes)));
    }
    co_return co_await group.join();
  };
  ASSERT_TRUE(run(body()).ok());
  EXPECT_EQ(uring_stats(*device).submit_calls, before + 1);
  EXPECT_EQ(uring_stats(*device).in_flight_max, 16U);
  EXPECT_EQ(uring_stats(*device).writes, 16U);
  EXPECT_EQ(uring_stats(*device).written_bytes, 16 * kPageBytes);
}

TEST_F(UringDeviceTest, RefusesOperationsAboveTheQueuesLimitAndFinishesTheRest) {
  const auto file = create("file", kMiB);
  AlignedMemory page(kPageBytes);
  constexpr std::uint64_t kAbove = 10;
  constexpr std::uint64_t kAll = kDeviceDepth + kDeviceQueueMax + kAbove;
  std::uint64_t refused = 0;
  std::uint64_t done = 0;
  auto one = [&]() -> Task<Status> {
    const int result = co_await device->read_at(file, 0, page.span());
    refused += result == -EAGAIN ? 1 : 0;
    done += result == static_cast<int>(kPageBytes) ? 1 : 0;
    co_return Status();
  };
  auto body = [&]() -> Task<Status> {
    TaskGroup group(context.get_executor());
    for (std::uint64_t i = 0; i < kAll; ++i) group.spawn(one());
    co_return co_await group.join();
  };
  ASSERT_TRUE(run(body()).ok());
  EXPECT_EQ(refused, kAbove);
  EXPECT_EQ(done, kAll - kAbove);
  EXPECT_LE(uring_stats(*device).in_flight_max, kDeviceDepth);
}

/// One worker owns one region of the file, so its reads have exactly one right answer.
Task<Status> random_worker(env::BlockDevice* device, env::DeviceFile file, std::uint64_t region,
                           std::uint64_t region_bytes, std::uint64_t seed, int operations) {
  SplitMix64 random(seed + region);
  AlignedMemory expected(region_bytes);
  AlignedMemory memory(region_bytes);
  const std::uint64_t pages = region_bytes / kPageBytes;
  for (int i = 0; i < operations; ++i) {
    const std::uint64_t first = random.below(pages);
    const std::uint64_t count = random.between(1, pages - first);
    const std::uint64_t at = first * kPageBytes;
    const std::uint64_t bytes = count * kPageBytes;
    const MutableBytes part = memory.span(at, bytes);
    const std::uint64_t offset = region * region_bytes + at;
    if (random.one_in(2)) {
      fill_pattern(part, random.next());
      CO_TRY_VOID(co_await write_fully(*device, file, offset, part));
      std::memcpy(expected.span(at, bytes).data(), part.data(), bytes);
    } else if (random.one_in(10)) {
      if (co_await device->punch(file, offset, bytes) != 0) {
        co_return Status(Code::kIo, "punch failed");
      }
      std::memset(expected.span(at, bytes).data(), 0, bytes);
    } else {
      CO_TRY_VOID(co_await read_fully(*device, file, offset, part));
      if (std::memcmp(part.data(), expected.span(at, bytes).data(), bytes) != 0) {
        co_return Status(Code::kCorrupt, "other bytes at " + std::to_string(offset));
      }
    }
    if (random.one_in(200)) CO_TRY_VOID(co_await flush(*device, file));
  }
  co_return Status();
}

TEST_F(UringDeviceTest, GivesBackTheRightBytesOverTenThousandRandomOperations) {
  constexpr std::uint64_t kRegionBytes = 256 * kKiB;
  constexpr std::uint64_t kRegions = 40;
  const auto seed = static_cast<std::uint64_t>(std::time(nullptr));
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto file = create("file", kRegions * kRegionBytes);
  auto body = [&]() -> Task<Status> {
    TaskGroup group(context.get_executor());
    for (std::uint64_t region = 0; region < kRegions; ++region) {
      group.spawn(random_worker(device.get(), file, region, kRegionBytes, seed, 250));
    }
    co_return co_await group.join();
  };
  const Status status = run(body());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_F(UringDeviceTest, OpensMoreFilesThanItCanRegister) {
  make_device({.depth = 4, .registered_files = 2});
  AlignedMemory page(kPageBytes);
  std::vector<env::DeviceFile> files;
  for (std::uint64_t i = 0; i < 5; ++i) files.push_back(create(std::to_string(i), kPageBytes));
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 5; ++i) {
      fill_pattern(page.span(), i);
      ASSERT_EQ(write(files[i], 0, page.span()), static_cast<int>(kPageBytes));
    }
    for (std::uint64_t i = 0; i < 5; ++i) {
      ASSERT_EQ(read(files[i], 0, page.span()), static_cast<int>(kPageBytes));
      EXPECT_TRUE(has_pattern(page.span(), i)) << i;  // a slot reused wrongly would show here
      device->close(files[i]);
      files[i] = must_open(std::to_string(i), DeviceOpen::kReadWrite);
    }
  }
}

TEST_F(UringDeviceTest, MayBeMadeOnAnotherThreadThanTheOneThatUsesIt) {
  const auto pool = PiecePool::make(context.get_executor(), 1).value();
  const auto registered = device->register_memory(pool->memory());
  std::thread user([&] {
    AlignedMemory page(kPageBytes);
    const auto file = create("file", kMiB);
    EXPECT_EQ(write(file, 0, page.span()), static_cast<int>(kPageBytes));
  });
  user.join();
  device.reset();
}

/// Sets a flag when it dies: tells that a coroutine's frame was destroyed.
struct Witness {
  explicit Witness(bool* flag) : flag_(flag) {}
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  ~Witness() { *flag_ = true; }
  bool* flag_;
};

TEST_F(UringDeviceTest, WaitsForTheKernelWhenItIsDestroyedWithOperationsInFlight) {
  const auto file = create("file", 64 * kMiB);
  auto memory = std::make_unique<AlignedMemory>(64 * kMiB);
  bool gone[64] = {};
  bool resumed = false;
  auto one = [&](std::uint64_t i) -> Task<void> {
    const Witness witness(&gone[i]);
    co_await device->read_at(file, i * kMiB, memory->span(i * kMiB, kMiB));
    resumed = true;
  };
  for (std::uint64_t i = 0; i < 64; ++i) {
    boost::asio::co_spawn(context, one(i), [](std::exception_ptr) {});
  }
  context.restart();
  while (uring_stats(*device).in_flight_max == 0) context.run_one();
  device.reset();
  memory.reset();  // the sanitizer, or the heap, would notice a late write of the kernel
  context.restart();
  context.run();  // what was queued finds the device gone, and the waiting coroutines end
  EXPECT_FALSE(resumed);
  for (const bool flag : gone) EXPECT_TRUE(flag);
}

TEST_F(UringDeviceTest, RefusesADepthOfZero) {
  EXPECT_EQ(make_uring_device(context, {.depth = 0}).error().code(), Code::kInvalid);
}

}  // namespace
}  // namespace cairn::io

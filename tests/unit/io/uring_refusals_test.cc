// The io_uring device where the kernel or the system refuses something: set-up flags, submissions,
// registration, descriptors, locked memory, space, direct I/O.
#include <fcntl.h>
#include <grp.h>
#include <liburing.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

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
using testing::in_child;
using testing::ring_calls;
using testing::RingCalls;
using testing::TestFolder;

struct UringRefusalsTest : testing::DeviceTest {
  /// Writes, flushes and reads back 64 MiB with many operations at once.
  void expect_round_trip(const std::string& name = "file") {
    const auto file = create(name, 64 * kMiB);
    AlignedMemory data(64 * kMiB);
    fill_pattern(data.span(), 5);
    auto body = [&]() -> Task<Status> {
      TaskGroup group(context.get_executor());
      for (std::uint64_t i = 0; i < 64; ++i) {
        group.spawn(write_fully(*device, file, i * kMiB, data.span(i * kMiB, kMiB)));
      }
      CO_TRY_VOID(co_await group.join());
      CO_TRY_VOID(co_await flush(*device, file));
      std::memset(data.span().data(), 0, data.span().size());
      for (std::uint64_t i = 0; i < 64; ++i) {
        group.spawn(read_fully(*device, file, i * kMiB, data.span(i * kMiB, kMiB)));
      }
      co_return co_await group.join();
    };
    const Status status = run(body());
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_TRUE(has_pattern(data.span(), 5));
    device->close(file);
  }
};

TEST_F(UringRefusalsTest, WorksOnAKernelWithoutDeferredCompletions) {
  ring_calls().unknown_setup_flags = IORING_SETUP_DEFER_TASKRUN;
  make_device();
  EXPECT_EQ(ring_calls().setups, 2);
  expect_round_trip();
}

TEST_F(UringRefusalsTest, WorksOnAKernelThatKnowsNoSetupFlags) {
  ring_calls().unknown_setup_flags = ~0U;
  make_device();
  EXPECT_EQ(ring_calls().setups, 3);
  expect_round_trip();
}

TEST_F(UringRefusalsTest, WorksWithoutAnyRegistration) {
  ring_calls().refuse_registration = true;
  make_device();
  const auto pool = PiecePool::make(context.get_executor(), 1).value();
  const auto registered = device->register_memory(pool->memory());
  EXPECT_FALSE(uring_stats(*device).fixed_buffers);
  EXPECT_FALSE(uring_stats(*device).registered_files);
  expect_round_trip();
  device.reset();
}

TEST_F(UringRefusalsTest, WorksThroughThePageCacheWhereDirectIoIsRefused) {
  ring_calls().refuse_direct = true;
  make_device();
  expect_round_trip();
}

TEST_F(UringRefusalsTest, WorksOnTmpfs) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no tmpfs at /dev/shm to try";
  const TestFolder shm("/dev/shm");
  make_device();
  const auto file = run(device->open(shm / "file", DeviceOpen::kCreate, kMiB)).value();
  AlignedMemory data(kMiB);
  fill_pattern(data.span(), 1);
  ASSERT_TRUE(run(write_fully(*device, file, 0, data.span())).ok());
  ASSERT_TRUE(run(flush(*device, file)).ok());
  ASSERT_EQ(run(device->punch(file, 0, kMiB / 2)), 0);
  ASSERT_TRUE(run(read_fully(*device, file, 0, data.span())).ok());
  EXPECT_TRUE(testing::is_zero(data.span(0, kMiB / 2)));
}

TEST_F(UringRefusalsTest, LosesNoOperationWhenSubmissionsAreRefusedForAWhile) {
  make_device();
  SplitMix64 random(3);
  ring_calls().submit = [&] {
    const int errors[] = {-EAGAIN, -EBUSY, -EINTR, -ENOMEM, RingCalls::pass};
    return errors[random.below(5)];
  };
  expect_round_trip("first");
  int refusals = 100;  // longer than one round of tries: the timer has to come
  ring_calls().submit = [&] { return refusals-- > 0 ? -EAGAIN : RingCalls::pass; };
  expect_round_trip("second");
}

TEST_F(UringRefusalsTest, FailsOperationsThatTheKernelWillNeverTakeAndGoesOnAfterwards) {
  make_device();
  const auto file = create("file", kMiB);
  AlignedMemory page(kPageBytes);
  ring_calls().submit = [] { return -EINVAL; };
  EXPECT_EQ(write(file, 0, page.span()), -EIO);
  EXPECT_EQ(run(device->flush(file)), -EIO);
  ring_calls().submit = nullptr;
  EXPECT_EQ(write(file, 0, page.span()), static_cast<int>(kPageBytes));
  expect_round_trip("second");
}

TEST_F(UringRefusalsTest, ResubmitsInterruptedTransfersButNeverAFlush) {
  make_device();
  SplitMix64 random(4);
  bool changed = false;
  ring_calls().completion = [&](io_uring_cqe& entry) {
    if (entry.res <= 0 || !random.one_in(3)) return;
    entry.res = random.one_in(2) ? -EINTR : -EAGAIN;
    changed = true;
  };
  expect_round_trip();
  if (!changed) GTEST_SKIP() << "this kernel posts completions outside our calls";
  EXPECT_GT(uring_stats(*device).resubmitted, 0U);
  const auto file = create("flushed", kMiB);
  const auto before = uring_stats(*device);
  ring_calls().completion = [](io_uring_cqe& entry) { entry.res = -EINTR; };
  EXPECT_EQ(run(device->flush(file)), -EINTR);
  EXPECT_EQ(uring_stats(*device).flushes, before.flushes + 1);
  EXPECT_EQ(uring_stats(*device).resubmitted, before.resubmitted);
}

TEST_F(UringRefusalsTest, GivesUpOnATransferThatIsInterruptedForEver) {
  make_device();
  const auto file = create("file", kMiB);
  AlignedMemory page(kPageBytes);
  bool changed = false;
  ring_calls().completion = [&](io_uring_cqe& entry) {
    entry.res = -EAGAIN;
    changed = true;
  };
  const int result = write(file, 0, page.span());
  if (!changed) GTEST_SKIP() << "this kernel posts completions outside our calls";
  EXPECT_EQ(result, -EAGAIN);
}

/// Number of the next descriptor that would be given out.
rlim_t next_descriptor() {
  const int next = ::dup(0);
  ::close(next);
  return static_cast<rlim_t>(next);
}

void limit_descriptors(rlim_t count) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = count;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_F(UringRefusalsTest, SaysNoDescriptorsWhenTheRingCannotBeMade) {
  const int status = in_child([&] {
    for (rlim_t spare = 0; spare < 2; ++spare) {  // none for the ring, then none for its eventfd
      limit_descriptors(next_descriptor() + spare);
      const auto made = make_uring_device(context, {});
      ASSERT_FALSE(made.has_value());
      EXPECT_EQ(made.error().code(), Code::kUnavailable) << made.error().to_string();
      EXPECT_EQ(made.error().reason(), Reason::kNoDescriptors) << made.error().to_string();
    }
  });
  EXPECT_EQ(status, 0);
}

TEST_F(UringRefusalsTest, SaysNoDescriptorsAndNotAbsentWhenAFileCannotBeOpened) {
  make_device();
  device->close(create("file", kMiB));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // Closing is done by the helper thread; one more round trip through it puts it behind us.
  const auto other = create("other", kMiB);
  limit_descriptors(next_descriptor());
  const auto refused = run(device->open(folder / "file", DeviceOpen::kRead, 0));
  const auto absent = run(device->open(folder / "new", DeviceOpen::kCreate, kMiB));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused.error().reason(), Reason::kNoDescriptors) << refused.error().to_string();
  EXPECT_EQ(absent.error().reason(), Reason::kNoDescriptors);
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  EXPECT_TRUE(run(device->open(folder / "file", DeviceOpen::kRead, 0)).has_value());
  device->close(other);
}

/// Gives up root for good, when we are root.
void become_nobody() {
  if (::geteuid() != 0) return;
  const passwd* nobody = ::getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  ASSERT_EQ(::setgroups(0, nullptr), 0);
  ASSERT_EQ(::setgid(nobody->pw_gid), 0);
  ASSERT_EQ(::setuid(nobody->pw_uid), 0);
}

TEST_F(UringRefusalsTest, GoesOnWithoutPinnedMemoryForAUserWithoutLockedMemory) {
  const int status = in_child([&] {
    const rlimit little{64 * kKiB, 64 * kKiB};
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &little), 0);
    become_nobody();
    const TestFolder public_folder("/tmp");
    make_device();
    const auto pool = PiecePool::make(context.get_executor(), 16).value();
    const auto registered = device->register_memory(pool->memory());
    EXPECT_FALSE(uring_stats(*device).fixed_buffers);
    auto body = [&]() -> Task<Status> {
      CO_TRY(const env::DeviceFile file,
             co_await device->open(public_folder / "file", DeviceOpen::kCreate, kMiB));
      const Piece piece = co_await pool->acquire();
      fill_pattern(piece.memory(), 1);
      CO_TRY_VOID(co_await write_fully(*device, file, 0, piece.memory()));
      std::memset(piece.memory().data(), 0, kPieceBytes);
      CO_TRY_VOID(co_await read_fully(*device, file, 0, piece.memory()));
      EXPECT_TRUE(has_pattern(piece.memory(), 1));
      co_return Status();
    };
    const Status done = run(body());
    EXPECT_TRUE(done.ok()) << done.to_string();
    device.reset();
  });
  EXPECT_EQ(status, 0);
}

TEST_F(UringRefusalsTest, GoesOnWithoutRegisteredFilesForAUserWithFewDescriptors) {
  const int status = in_child([&] {
    become_nobody();
    // Fewer than the table has slots; the hard limit too, or liburing raises the other.
    const rlimit few{next_descriptor() + 16, next_descriptor() + 16};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const TestFolder public_folder("/tmp");
    make_device();
    EXPECT_FALSE(uring_stats(*device).registered_files);
    const auto file = run(device->open(public_folder / "file", DeviceOpen::kCreate, kMiB));
    ASSERT_TRUE(file.has_value()) << file.error().to_string();
    AlignedMemory page(kPageBytes);
    EXPECT_EQ(write(*file, 0, page.span()), static_cast<int>(kPageBytes));
    device.reset();
  });
  EXPECT_EQ(status, 0);
}

/// An ext4 of 32 MiB at `folder`/mnt, seen by this process only and gone with it.
bool mount_small_ext4(const TestFolder& folder) {
  const std::string image = folder / "image";
  const std::string at = folder / "mnt";
  std::ofstream(image).close();
  std::filesystem::resize_file(image, 32 * kMiB);
  std::filesystem::create_directory(at);
  if (::unshare(CLONE_NEWNS) != 0) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const std::string command = "mkfs.ext4 -q -F " + image + " && mount -o loop " + image + " " + at;
  return std::system(command.c_str()) == 0;
}

TEST_F(UringRefusalsTest, LeavesNothingBehindWhenThereIsNoSpaceForANewFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may mount the small file system it needs";
  constexpr int kNoMount = 77;
  const int status = in_child([&] {
    if (!mount_small_ext4(folder)) ::_exit(kNoMount);
    make_device();
    const auto refused = run(device->open(folder / "mnt/big", DeviceOpen::kCreate, 64 * kMiB));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), Code::kNoSpace) << refused.error().to_string();
    EXPECT_FALSE(std::filesystem::exists(folder / "mnt/big"));
    // What fits is really there: writes over all of it succeed on the then full file system.
    const auto file = run(device->open(folder / "mnt/fits", DeviceOpen::kCreate, 8 * kMiB)).value();
    const auto rest = run(device->open(folder / "mnt/rest", DeviceOpen::kCreate, 0)).value();
    AlignedMemory data(8 * kMiB);
    fill_pattern(data.span(), 1);
    Status filled;
    for (std::uint64_t at = 0; filled.ok() && at < 64 * kMiB; at += 8 * kMiB) {
      filled = run(write_fully(*device, rest, at, data.span()));
    }
    EXPECT_EQ(filled.code(), Code::kNoSpace) << filled.to_string();
    const Status written = run(write_fully(*device, file, 0, data.span()));
    EXPECT_TRUE(written.ok()) << written.to_string();
    EXPECT_EQ(run(device->flush(file)), 0);
    device.reset();
  });
  if (status == kNoMount) GTEST_SKIP() << "no loop device or mkfs.ext4 to be had";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cairn::io

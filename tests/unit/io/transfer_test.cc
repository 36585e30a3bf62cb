// Whole transfers over a device whose results are short or wrong.
#include "engine/io/transfer.h"

#include <cerrno>

#include "engine/base/units.h"
#include "engine/io/fault_device.h"
#include "tests/unit/io/device_fixture.h"

namespace cairn::io {
namespace {

using testing::AlignedMemory;
using testing::fill_pattern;
using testing::has_pattern;

struct TransferTest : testing::DeviceTest {
  TransferTest() {
    make_device();
    faulty = make_fault_device(
        *device, [this](const FaultPoint& point) { return plan ? plan(point) : std::nullopt; });
    file = create("file", 4 * kMiB);
    fill_pattern(data.span(), 1);
  }
  Status write_all() { return run(write_fully(*faulty, file, 0, data.span())); }

  FaultPlan plan;
  std::unique_ptr<env::BlockDevice> faulty;
  env::DeviceFile file;
  AlignedMemory data{1 * kMiB};
  AlignedMemory back{1 * kMiB};
};

TEST_F(TransferTest, WritesAndReadsEverythingThroughResultsOfAnyLength) {
  SplitMix64 random(7);
  plan = [&](const FaultPoint& point) -> std::optional<int> {
    if (random.one_in(8)) return static_cast<int>(random.between(1, kPageBytes - 1));
    return static_cast<int>(random.between(kPageBytes, point.length));
  };
  for (int round = 0; round < 50; ++round) {
    fill_pattern(data.span(), static_cast<std::uint64_t>(round));
    ASSERT_TRUE(write_all().ok());
    ASSERT_TRUE(run(read_fully(*faulty, file, 0, back.span())).ok());
    ASSERT_TRUE(has_pattern(back.span(), static_cast<std::uint64_t>(round)));
  }
}

TEST_F(TransferTest, FailsAWriteThatTheDeviceDoesNotTake) {
  plan = [](const FaultPoint&) { return 0; };
  EXPECT_EQ(write_all().code(), Code::kIo);
}

TEST_F(TransferTest, GivesUpOnADeviceThatMovesLessThanAPageForEver) {
  plan = [](const FaultPoint&) { return 512; };
  EXPECT_EQ(write_all().code(), Code::kIo);
  EXPECT_EQ(run(read_fully(*faulty, file, 0, back.span())).code(), Code::kIo);
}

TEST_F(TransferTest, SaysWhatTheCallerCanDoAboutAnErrorOfTheDevice) {
  int result = 0;
  plan = [&](const FaultPoint&) { return result; };
  const std::pair<int, Code> cases[] = {{EIO, Code::kIo},
                                        {EINVAL, Code::kIo},
                                        {EBADF, Code::kIo},
                                        {ENOSPC, Code::kNoSpace},
                                        {EAGAIN, Code::kUnavailable}};
  for (const auto& [error, code] : cases) {
    result = -error;
    EXPECT_EQ(write_all().code(), code) << error;
    EXPECT_EQ(run(read_fully(*faulty, file, 0, back.span())).code(), code) << error;
    EXPECT_EQ(run(flush(*faulty, file)).code(), code) << error;
  }
}

TEST_F(TransferTest, StopsAtTheFirstErrorAfterAShortResult) {
  plan = [](const FaultPoint& point) {
    return point.number == 0 ? static_cast<int>(64 * kKiB) : -EIO;
  };
  const Status status = write_all();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("65536"), std::string_view::npos) << status.message();
}

TEST_F(TransferTest, AsksForAFlushOnceEvenWhenItFails) {
  std::uint64_t flushes = 0;
  plan = [&](const FaultPoint& point) {
    flushes += point.operation == DeviceOperation::kFlush ? 1 : 0;
    return -EIO;
  };
  EXPECT_EQ(run(flush(*faulty, file)).code(), Code::kIo);
  EXPECT_EQ(flushes, 1U);
}

TEST_F(TransferTest, TellsAShortResultFromTheEndOfTheFile) {
  ASSERT_EQ(run(device->truncate(file, 10'000)), 0);
  plan = [](const FaultPoint& point) -> std::optional<int> {
    if (point.operation == DeviceOperation::kRead && point.number % 2 == 0) return 0;
    return std::nullopt;
  };
  const auto got = run(read_up_to(*faulty, file, 0, back.span()));
  EXPECT_EQ(got.value(), 10'000U);
  EXPECT_EQ(run(read_fully(*faulty, file, 0, back.span())).code(), Code::kCorrupt);
  EXPECT_EQ(run(read_up_to(*faulty, file, 64 * kKiB, back.span())).value(), 0U);
}

TEST_F(TransferTest, MovesNothingForAnEmptySpan) {
  plan = [](const FaultPoint&) { return -EIO; };
  EXPECT_TRUE(run(write_fully(*faulty, file, 0, Bytes())).ok());
  EXPECT_TRUE(run(read_fully(*faulty, file, 0, MutableBytes())).ok());
}

TEST_F(TransferTest, FaultsEveryOtherOperationWithoutTouchingTheDevice) {
  ASSERT_TRUE(write_all().ok());
  plan = [](const FaultPoint&) { return -EIO; };
  EXPECT_EQ(run(faulty->punch(file, 0, kMiB)), -EIO);
  EXPECT_EQ(run(faulty->truncate(file, 0)), -EIO);
  EXPECT_EQ(run(faulty->open(folder / "other", env::DeviceOpen::kCreate, 0)).error().code(),
            Code::kIo);
  EXPECT_FALSE(std::filesystem::exists(folder / "other"));
  EXPECT_EQ(faulty->file_bytes(file).value(), 4 * kMiB);
  plan = nullptr;
  ASSERT_TRUE(run(read_fully(*faulty, file, 0, back.span())).ok());
  EXPECT_TRUE(has_pattern(back.span(), 1));
}

}  // namespace
}  // namespace cairn::io

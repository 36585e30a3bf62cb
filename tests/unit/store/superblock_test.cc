// The superblock: round trip, refusal of damage, and what two copies are for.
#include "engine/store/superblock.h"

#include <gtest/gtest.h>

#include "tests/sim/support/process.h"

namespace cairn::store {
namespace {

Superblock sample() {
  Superblock s;
  s.sequence = 3;
  s.cluster.bytes.fill(1);
  s.target.bytes.fill(2);
  s.created_s = 1'700'000'000;
  s.capacity_bytes = 500 * kGiB;
  s.segment_bytes = kGiB;
  s.epoch = {12};
  s.metadata_mark = {345};
  s.index_commit = 67;
  s.segment_mark = {8};
  s.expelled = true;
  s.pool = "capacity";
  s.failure = "flush: Input/output error";
  return s;
}

TEST(Superblock, ComesBackAsItWasWritten) {
  const std::string bytes = encode(sample());
  ASSERT_EQ(bytes.size(), kSuperblockBytes);
  const auto decoded = decode_superblock(as_bytes(bytes));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
  EXPECT_EQ(*decoded, sample());
}

TEST(Superblock, WithAnyBitFlippedIsRefused) {
  std::string bytes = encode(sample());
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 3) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = decode_superblock(as_bytes(bytes));
    ASSERT_FALSE(decoded.has_value()) << "bit " << bit;
    decoded.error().ignore();
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST(Superblock, OfAnotherFormatNamesBothNumbers) {
  std::string bytes = encode(sample());
  bytes[8] = 9;
  const auto decoded = decode_superblock(as_bytes(bytes));
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code(), Code::kUnsupported);
  EXPECT_NE(decoded.error().message().find("format 9"), std::string_view::npos);
}

class SuperblockCopies : public testing::Test {
 protected:
  SuperblockCopies() { ok(process.env().files.make_directory("/t")); }
  static void ok(const Status& status) { ASSERT_TRUE(status.ok()) << status.to_string(); }
  void write(const Superblock& s) {
    ok(scheduler.run(write_superblock(process.env().files, "/t", s)));
  }
  Result<Superblock> load() { return load_superblock(process.env().files, "/t"); }

  sim::SimScheduler scheduler{1};
  sim::SimDisk disk{scheduler, {}};
  sim::SimProcess process{disk};
};

TEST_F(SuperblockCopies, OneDamagedCopyIsCoveredByTheOther) {
  write(sample());
  for (const char* name : {"/t/superblock", "/t/superblock.copy"}) {
    disk.flip_bit(name, 100, 3);
    const auto loaded = load();
    ASSERT_TRUE(loaded.has_value()) << loaded.error().to_string();
    EXPECT_EQ(*loaded, sample());
    disk.heal(name);
  }
}

TEST_F(SuperblockCopies, TwoDamagedCopiesAreAnErrorAndNotAbsence) {
  write(sample());
  disk.flip_bit("/t/superblock", 100, 3);
  disk.flip_bit("/t/superblock.copy", 101, 3);
  const auto loaded = load();
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code(), Code::kCorrupt);
}

TEST_F(SuperblockCopies, AnUnreadableFileIsAnErrorAndNotAbsence) {
  write(sample());
  disk.faults().fail(sim::SimOperation::kFileRead, 0, EIO, 2);
  const auto loaded = load();
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code(), Code::kIo);
}

TEST_F(SuperblockCopies, TheNewestCountsAfterACrashBetweenThem) {
  write(sample());
  Superblock next = sample();
  next.sequence = 4;
  next.epoch = {13};
  disk.faults().fail(sim::SimOperation::kReplace, 1, EIO);
  const Status written = scheduler.run(write_superblock(process.env().files, "/t", next));
  EXPECT_FALSE(written.ok());
  const auto loaded = load();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->epoch, Epoch{13});
}

TEST_F(SuperblockCopies, NoneAtAllSaysHowToMakeATarget) {
  const auto loaded = load();
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code(), Code::kNotFound);
  EXPECT_NE(loaded.error().message().find("cairn target init"), std::string_view::npos);
}

}  // namespace
}  // namespace cairn::store

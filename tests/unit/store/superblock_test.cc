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

TEST_F(SuperblockCopies, TheNewestCountsAfterAnErrorBetweenThem) {
  write(sample());
  const auto file = SuperblockFile::open(scheduler.executor(), process.env().files, "/t");
  ASSERT_TRUE(file.has_value()) << file.error().to_string();
  disk.faults().fail(sim::SimOperation::kOverwrite, 2, EIO);
  const Status written = scheduler.run((*file)->update([](Superblock& s) { s.epoch = {13}; }));
  EXPECT_EQ(written.code(), Code::kIo);
  EXPECT_EQ((*file)->current().epoch, sample().epoch);
  const auto loaded = load();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->epoch, Epoch{13});
}

TEST_F(SuperblockCopies, AnUpdateNeedsNoSpaceAndMendsADamagedCopy) {
  write(sample());
  disk.options().capacity_bytes = disk.used_bytes();
  for (const char* name : {"/t/superblock", "/t/superblock.copy"}) {
    disk.poke(name, 100, "damage");
    const auto file = SuperblockFile::open(scheduler.executor(), process.env().files, "/t");
    ASSERT_TRUE(file.has_value()) << file.error().to_string();
    ok(scheduler.run((*file)->update([](Superblock& s) { ++s.index_commit; })));
    EXPECT_EQ(disk.content("/t/superblock"), disk.content("/t/superblock.copy"));
  }
  EXPECT_EQ(load()->index_commit, sample().index_commit + 2);
}

TEST_F(SuperblockCopies, ACopyThatIsGoneComesBack) {
  write(sample());
  ok(scheduler.run(process.env().files.remove("/t/superblock.copy")));
  const auto file = SuperblockFile::open(scheduler.executor(), process.env().files, "/t");
  ASSERT_TRUE(file.has_value()) << file.error().to_string();
  ok(scheduler.run((*file)->update([](Superblock& s) { ++s.index_commit; })));
  EXPECT_EQ(disk.content("/t/superblock"), disk.content("/t/superblock.copy"));
}

/// Lives of a process that does nothing but update, each ended at a random moment.
class SuperblockLives {
 public:
  explicit SuperblockLives(std::uint64_t seed) : scheduler_(seed), random_(seed) {
    disk_.add_directory("/t");
    sim::SimProcess first(disk_);
    Superblock s = sample();
    s.index_commit = 0;
    const Status made = scheduler_.run(write_superblock(first.env().files, "/t", s));
    EXPECT_TRUE(made.ok()) << made.to_string();
  }

  void live() {
    sim::SimProcess process(disk_);
    const auto file = SuperblockFile::open(scheduler_.executor(), process.env().files, "/t");
    ASSERT_TRUE(file.has_value()) << "seed " << scheduler_.seed() << ": "
                                  << file.error().to_string();
    const std::uint64_t found = (*file)->current().index_commit;
    EXPECT_GE(found, acknowledged_) << "seed " << scheduler_.seed();
    EXPECT_LE(found, begun_) << "seed " << scheduler_.seed();
    // What was found may be acted upon, so that it must not be lost either once an update lasted.
    cairn::spawn(scheduler_.executor(), update(**file));
    scheduler_.run_for(std::chrono::microseconds(random_.below(3000)));
    random_.one_in(2) ? process.crash() : process.kill();
    scheduler_.run_until_idle();
  }

 private:
  Task<void> update(SuperblockFile& file) {
    for (;;) {
      const std::uint64_t next = file.current().index_commit + 1;
      begun_ = std::max(begun_, next);
      const Status done = co_await file.update([](Superblock& s) { ++s.index_commit; });
      if (!done.ok()) co_return;
      acknowledged_ = next;
    }
  }

  sim::SimScheduler scheduler_;
  sim::SimDisk disk_{scheduler_, {}};
  SplitMix64 random_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t begun_ = 0;
};

TEST(SuperblockUpdates, OutliveKillsAndPowerCuts) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SuperblockLives lives(seed);
    for (int life = 0; life < 12; ++life) lives.live();
    if (testing::Test::HasFailure()) return;
  }
}

TEST_F(SuperblockCopies, NoneAtAllSaysHowToMakeATarget) {
  const auto loaded = load();
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code(), Code::kNotFound);
  EXPECT_NE(loaded.error().message().find("cairn target init"), std::string_view::npos);
}

}  // namespace
}  // namespace cairn::store

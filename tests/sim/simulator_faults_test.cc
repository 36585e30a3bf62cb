// Each fault of the simulator can be caused, seen and counted; and the model of a key-value store.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "tests/sim/simulator_world.h"

namespace cairn::sim {
namespace {

constexpr int kPage = static_cast<int>(kPageBytes);

// ---- planned faults -----------------------------------------------------------------------------

TEST(SimFaults, FailTheOperationThatWasNamedAndCountIt) {
  SimWorld world(1);
  const env::DeviceFile file = world.durable_file("/d/f", 4);
  world.disk.faults().fail(SimOperation::kWrite, 1, EIO);
  EXPECT_EQ(world.write(file, 0, 1, 1), kPage);
  EXPECT_EQ(world.write(file, 0, 1, 2), -EIO);
  EXPECT_EQ(world.write(file, 0, 1, 3), kPage);
  const Pages page(1);
  world.disk.faults().fail(SimOperation::kRead, 0, EIO);
  EXPECT_EQ(world.read(file, 0, page), -EIO);
  EXPECT_EQ(world.read(file, 0, page), kPage);
  EXPECT_EQ(world.disk.stats().failed(SimOperation::kWrite), 1u);
  EXPECT_EQ(world.disk.stats().failed(SimOperation::kRead), 1u);
}

TEST(SimFaults, ShortenTransfers) {
  SimWorld world(1);
  const env::DeviceFile file = world.durable_file("/d/f", 4);
  world.disk.faults().shorten(SimOperation::kWrite, 0, kPageBytes + 512);
  EXPECT_EQ(world.write(file, 0, 4, 1), kPage + 512);
  EXPECT_EQ(world.sector_tags("/d/f")[0], 1u);
  EXPECT_EQ(world.sector_tags("/d/f")[8], 0u) << "a cut page is not written";
  SimDiskOptions& options = world.disk.options();
  options.short_one_in = 2;
  for (int i = 0; i < 50; ++i) world.write(file, 0, 4, 2);
  EXPECT_GT(world.disk.stats().shortened, 10u);
}

TEST(SimFaults, LetAFailedWriteLeaveAnyPartOfItself) {
  std::set<std::size_t> parts;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SimWorld world(seed);
    const env::DeviceFile file = world.durable_file("/d/f", 4);
    world.disk.faults().fail(SimOperation::kWrite, 0, EIO);
    EXPECT_EQ(world.write(file, 0, 4, 1), -EIO);
    const auto tags = world.sector_tags("/d/f");
    parts.insert(
        static_cast<std::size_t>(std::ranges::count(tags, std::optional<std::uint64_t>(1))));
  }
  EXPECT_TRUE(parts.contains(0));
  EXPECT_TRUE(parts.contains(32));
  EXPECT_GT(parts.size(), 2u);
}

TEST(SimFaults, MakeARetriedFlushLie) {
  bool lost = false;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimWorld world(seed);
    const env::DeviceFile file = world.durable_file("/d/f", 1);
    world.write(file, 0, 1, 5);
    world.disk.faults().fail(SimOperation::kFlush, 0, EIO);
    EXPECT_EQ(world.flush(file), -EIO);
    EXPECT_EQ(world.flush(file), 0);
    EXPECT_EQ(world.sector_tags("/d/f")[0], 5u) << "the cache still has it";
    world.crash_and_start();
    lost = lost || world.sector_tags("/d/f")[0] == 0u;
  }
  EXPECT_TRUE(lost);
}

TEST(SimFaults, ChangeReadsAndNotTheMedium) {
  SimWorld world(1);
  const env::DeviceFile file = world.durable_file("/d/f", 4);
  world.write(file, 0, 1, 1);
  world.write(file, 1, 1, 2);
  const Pages page(1);
  const auto tag = [&](std::uint64_t at) {
    EXPECT_EQ(world.read(file, at, page), kPage);
    return load_le<std::uint64_t>(page.get().data());
  };
  world.disk.flip_bit("/d/f", 0, 7);
  EXPECT_EQ(tag(0), 1u ^ 0x80);
  world.disk.heal("/d/f");
  EXPECT_EQ(tag(0), 1u);
  world.disk.misplace("/d/f", kPageBytes, kPageBytes, 0);
  EXPECT_EQ(tag(1), 1u);
  world.disk.zero("/d/f", 0, kPageBytes);
  EXPECT_EQ(tag(0), 0u);
  world.disk.heal("/d/f");
  EXPECT_EQ(tag(1), 2u);
  world.disk.poke("/d/f", kPageBytes, "\x09");
  EXPECT_EQ(tag(1), 9u);
  EXPECT_GT(world.disk.stats().flipped_reads, 0u);
  EXPECT_GT(world.disk.stats().misplaced_reads, 0u);
}

TEST(SimFaults, FailNamesAndListings) {
  SimWorld world(1);
  world.disk.faults().fail(SimOperation::kList, 0, EIO);
  EXPECT_EQ(world.files().list("/d").error().code(), Code::kIo);
  EXPECT_TRUE(world.files().list("/d").has_value());
  world.disk.faults().fail(SimOperation::kOpen, 0, EMFILE);
  EXPECT_EQ(world.open("/d/f", env::DeviceOpen::kCreate).error().reason(), Reason::kNoDescriptors);
  EXPECT_FALSE(world.disk.exists("/d/f"));
  world.disk.options().descriptors_max = 1;
  ASSERT_TRUE(world.open("/d/f", env::DeviceOpen::kCreate).has_value());
  EXPECT_EQ(world.open("/d/f", env::DeviceOpen::kRead).error().reason(), Reason::kNoDescriptors);
}

TEST(SimFaults, HappenByChanceAndStopWhenCleared) {
  SimDiskOptions options;
  options.set_error(SimOperation::kRead, 4);
  options.read_flip_one_in = 4;
  SimWorld world(3, options);
  const env::DeviceFile file = world.durable_file("/d/f", 1);
  const Pages page(1);
  for (int i = 0; i < 100; ++i) world.read(file, 0, page);
  EXPECT_GT(world.disk.stats().failed(SimOperation::kRead), 5u);
  EXPECT_GT(world.disk.stats().flipped_reads, 5u);
  world.disk.faults().clear();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(world.read(file, 0, page), kPage);
}

TEST(SimFaults, MayEndTheProcessInsideAnOperation) {
  SimWorld world(1);
  const env::DeviceFile file = world.durable_file("/d/f", 1);
  world.disk.faults().set_plan([&world](const SimFaultPoint& point) -> std::optional<int> {
    if (point.operation == SimOperation::kFlush && world.process->alive()) world.process->crash();
    return std::nullopt;
  });
  EXPECT_EQ(world.write(file, 0, 1, 1), kPage);
  EXPECT_EQ(world.flush(file), -EIO);
  EXPECT_EQ(world.disk.stats().crashes, 1u);
}

TEST(SimDevice, RefusesWhatDirectIoRefuses) {
  SimWorld world(1);
  const env::DeviceFile file = world.durable_file("/d/f", 2);
  const Pages pages(2);
  const MutableBytes odd = pages.get().subspan(512, kPageBytes);
  EXPECT_EQ(world.scheduler.run(world.device().write_at(file, 0, odd)), -EINVAL);
  EXPECT_EQ(world.scheduler.run(world.device().read_at(file, 512, pages.get())), -EINVAL);
  const auto reader = world.open("/d/f", env::DeviceOpen::kRead);
  EXPECT_EQ(world.write(*reader, 0, 1, 1), -EBADF);
  world.device().close(file);
  EXPECT_EQ(world.flush(file), -EBADF);
  EXPECT_EQ(world.open("/d/f", env::DeviceOpen::kCreate).error().code(), Code::kExists);
  EXPECT_EQ(world.open("/d/g", env::DeviceOpen::kRead).error().code(), Code::kNotFound);
  EXPECT_EQ(world.read(*reader, 2, pages), 0) << "the end of the file";
}

// ---- space --------------------------------------------------------------------------------------

TEST(SimSpace, RunsOutAndComesBackByPunchTruncateAndRemove) {
  SimDiskOptions options;
  options.capacity_bytes = 8 * kPageBytes;
  SimWorld world(1, options);
  const env::DeviceFile file = world.durable_file("/d/f", 6);
  EXPECT_EQ(world.open("/d/g", env::DeviceOpen::kCreate, 3).error().code(), Code::kNoSpace);
  EXPECT_FALSE(world.disk.exists("/d/g"));
  EXPECT_EQ(world.write(file, 6, 3, 1), -ENOSPC);
  EXPECT_EQ(world.write(file, 6, 2, 1), 2 * kPage);
  EXPECT_EQ(world.scheduler.run(world.files().replace("/d/r", "x")).code(), Code::kNoSpace);
  EXPECT_EQ(world.scheduler.run(world.device().punch(file, 0, 2 * kPageBytes)), 0);
  EXPECT_EQ(world.disk.free_bytes(), 2 * kPageBytes);
  EXPECT_TRUE(world.scheduler.run(world.files().replace("/d/r", "x")).ok());
  EXPECT_EQ(world.write(file, 0, 2, 1), -ENOSPC) << "punched blocks have to be taken again";
  EXPECT_EQ(world.scheduler.run(world.device().truncate(file, kPageBytes)), 0);
  EXPECT_EQ(world.disk.free_bytes(), 7 * kPageBytes);
  EXPECT_EQ(world.write(file, 0, 1, 1), kPage);
  ASSERT_TRUE(world.scheduler.run(world.files().remove("/d/f")).ok());
  EXPECT_EQ(world.disk.free_bytes(), 6 * kPageBytes) << "an open file keeps its blocks";
  world.device().close(file);
  EXPECT_EQ(world.disk.free_bytes(), 7 * kPageBytes);
  EXPECT_EQ(world.disk.stats().no_space, 4u);
  ASSERT_TRUE(world.scheduler.run(world.files().reserve("/d/b", 7 * kPageBytes)).ok());
  EXPECT_EQ(world.disk.free_bytes(), 0u);
  EXPECT_EQ(world.files().space("/d")->free_bytes, 0u);
}

// ---- the model of a key-value store -------------------------------------------------------------

Status put(env::KeyValue& store, const std::string& key, const std::string& value) {
  env::WriteBatch batch;
  batch.put(0, key, value);
  return store.write(batch);
}

/// Values 1, 2, ... under their own keys; how many there are without a gap.
std::uint64_t count_prefix(env::KeyValue& store) {
  std::uint64_t n = 0;
  while (store.get(0, std::to_string(n + 1))->has_value()) ++n;
  const auto beyond = store.get(0, std::to_string(n + 2));
  EXPECT_FALSE(beyond->has_value()) << "a batch survived one before it";
  return n;
}

std::unique_ptr<env::KeyValue> durable_store(SimWorld& world) {
  auto store = world.stores().open("/d/s", {"one"}, env::KeyValueOpen::kCreate);
  CAIRN_CHECK(store.has_value() && world.sync("/d").ok());
  return *std::move(store);
}

TEST(SimKeyValue, KeepsTheSyncedBatchesAndTheFirstFewOfTheOthers) {
  std::set<std::uint64_t> kept;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimWorld world(seed);
    auto store = durable_store(world);
    for (int i = 1; i <= 3; ++i) ASSERT_TRUE(put(*store, std::to_string(i), "x").ok());
    ASSERT_TRUE(world.scheduler.run(store->sync()).ok());
    for (int i = 4; i <= 6; ++i) ASSERT_TRUE(put(*store, std::to_string(i), "x").ok());
    world.crash_and_start();
    auto again = world.stores().open("/d/s", {"one"}, env::KeyValueOpen::kExisting);
    ASSERT_TRUE(again.has_value());
    kept.insert(count_prefix(**again));
  }
  EXPECT_EQ(kept, (std::set<std::uint64_t>{3, 4, 5, 6}));
}

TEST(SimKeyValue, KeepsEveryBatchWhenOnlyTheProcessDies) {
  SimWorld world(1);
  auto store = durable_store(world);
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(put(*store, std::to_string(i), "x").ok());
  world.kill_and_start();
  auto again = world.stores().open("/d/s", {"one"}, env::KeyValueOpen::kExisting);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(count_prefix(**again), 3u);
}

TEST(SimKeyValue, TakesNoMoreWritesAfterAFailedOne) {
  std::set<bool> came_back;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimWorld world(seed);
    auto store = durable_store(world);
    const bool by_sync = seed % 2 == 0;
    world.disk.faults().fail(by_sync ? SimOperation::kStoreSync : SimOperation::kStoreWrite, 0,
                             EIO);
    EXPECT_EQ(put(*store, "1", "x").ok(), by_sync);
    EXPECT_EQ(world.scheduler.run(store->sync()).code(), Code::kIo);
    EXPECT_EQ(put(*store, "2", "x").code(), Code::kIo);
    store.reset();
    auto again = world.stores().open("/d/s", {"one"}, env::KeyValueOpen::kExisting);
    ASSERT_TRUE(again.has_value());
    const bool there = (*again)->get(0, "1")->has_value();
    if (by_sync) {
      EXPECT_TRUE(there);
    } else {
      came_back.insert(there);
    }
    EXPECT_TRUE(put(**again, "2", "x").ok());
  }
  EXPECT_EQ(came_back.size(), 2u) << "a failed write may be found in the log";
}

TEST(SimKeyValue, ShowsAScanTheMomentItBegan) {
  SimWorld world(1);
  auto store = durable_store(world);
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(put(*store, key, "1").ok());
  const auto scan = store->scan(0, "a", "c");
  env::WriteBatch batch;
  batch.erase_range(0, "a", "z");
  batch.put(0, "b", "2");
  ASSERT_TRUE(store->write(batch).ok());
  std::string seen;
  for (auto row = scan->next(); row->has_value(); row = scan->next()) {
    seen += (*row)->key + (*row)->value;
  }
  EXPECT_EQ(seen, "a1b1");
  EXPECT_EQ(*store->get(0, "b"), "2");
  EXPECT_FALSE(store->get(0, "a")->has_value());
}

TEST(SimKeyValue, CanBeRolledBackAndDamagedByATest) {
  SimWorld world(1);
  auto store = durable_store(world);
  ASSERT_TRUE(put(*store, "1", "x").ok());
  ASSERT_TRUE(world.scheduler.run(store->sync()).ok());
  const StoreState backup = world.disk.store("/d/s")->copy_synced();
  ASSERT_TRUE(put(*store, "2", "x").ok());
  ASSERT_TRUE(world.scheduler.run(store->sync()).ok());
  store.reset();
  world.disk.store("/d/s")->roll_back(backup);
  auto again = world.stores().open("/d/s", {"one"}, env::KeyValueOpen::kExisting);
  EXPECT_EQ(count_prefix(**again), 1u);
  again->reset();
  world.disk.store("/d/s")->set_corrupt(true);
  EXPECT_EQ(world.stores().open("/d/s", {"one"}, env::KeyValueOpen::kExisting).error().code(),
            Code::kCorrupt);
  EXPECT_TRUE(world.stores().destroy("/d/s").ok());
  EXPECT_EQ(world.stores().open("/d/s", {"one"}, env::KeyValueOpen::kExisting).error().code(),
            Code::kNotFound);
}

TEST(SimKeyValue, KnowsFamiliesByTheirNames) {
  SimWorld world(1);
  auto store = world.stores().open("/d/s", {"one", "two"}, env::KeyValueOpen::kCreate);
  ASSERT_TRUE(put(**store, "k", "in one").ok());
  store->reset();
  auto again = world.stores().open("/d/s", {"two", "one", "three"}, env::KeyValueOpen::kExisting);
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE((*again)->get(0, "k")->has_value());
  EXPECT_EQ((*again)->get(1, "k")->value(), "in one");
  EXPECT_FALSE((*again)->get(2, "k")->has_value());
}

}  // namespace
}  // namespace cairn::sim

// The rules of a target, one by one: each test is a sentence about what a caller may rely on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/codec/hash_table.h"
#include "tests/sim/store_world.h"

namespace cairn::sim {
namespace {

class Target : public testing::Test {
 protected:
  Target() { open(); }
  void open() {
    const Status opened = world.open();
    ASSERT_TRUE(opened.ok()) << opened.to_string();
  }
  Status put(const TestFragment& fragment) { return world.scheduler.run(world.put(fragment)); }
  Status erase(const FragmentName& name) { return world.scheduler.run(world.erase({name})); }
  Status read(const TestFragment& fragment) { return world.scheduler.run(world.read(fragment)); }
  Status read_range(const TestFragment& of, store::ReadRange range) {
    AlignedBuffer buffer(range.length);
    return world.scheduler.run(
        world.target->read_fragment(of.name, range, buffer.get(), store::Verify::kHere));
  }
  Status read_whole(const TestFragment& of) {
    return read_range(of, {0, layout::fragment_bytes(of.geometry)});
  }
  /// A put of bytes that don't follow from the name; the model is not told.
  Status put_bytes(const TestFragment& of, const std::string& data) {
    std::string table(layout::table_bytes(of.geometry), '\0');
    codec::fill_table(std::as_writable_bytes(std::span(table)), of.geometry, of.name.object,
                      of.name.index, 0, as_bytes(data));
    store::PutRequest request;
    request.name = of.name;
    request.geometry = of.geometry;
    request.table = as_bytes(table);
    auto session = world.scheduler.run(world.target->begin_put(request));
    if (!session) return std::move(session).error();
    TRY_VOID(world.scheduler.run(world.feed(*session, data)));
    return world.scheduler.run(session->finish());
  }
  TestFragment fragment(std::uint64_t pages = 3) {
    TestFragment made = world.make_fragment();
    made.geometry.object_bytes = pages * kPageBytes * made.geometry.data;
    return made;
  }
  Code stat_code(const FragmentName& name) const {
    const auto info = world.target->stat(name);
    return info ? Code::kOk : info.error().code();
  }
  std::string segment_path() const {
    for (const auto& [path, inode] : world.disk.names().all()) {
      if (path.ends_with(".seg") && inode->current.bytes > 0) return path;
    }
    return {};
  }

  mutable StoreWorld world{7, {}};
};

TEST_F(Target, ServesWhatWasPut) {
  const TestFragment one = fragment();
  ASSERT_TRUE(put(one).ok());
  EXPECT_TRUE(read(one).ok());
  const auto table = world.scheduler.run(world.target->read_table(one.name));
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(*table, one.table());
}

TEST_F(Target, AcceptsTheSamePutAgainAndRefusesOtherBytes) {
  const TestFragment one = fragment(3);
  ASSERT_TRUE(put(one).ok());
  EXPECT_TRUE(put(one).ok());
  TestFragment other = one;
  other.geometry.object_bytes = 5 * kPageBytes * other.geometry.data;
  const Status refused = put(other);
  EXPECT_EQ(refused.code(), Code::kExists) << refused.to_string();
  EXPECT_TRUE(read(one).ok());
}

TEST_F(Target, KnowsEachPlacementByItself) {
  TestFragment first = fragment();
  first.name.placement = {1};
  TestFragment second = first;
  second.name.placement = {2};
  ASSERT_TRUE(put(first).ok());
  EXPECT_EQ(stat_code(second.name), Code::kNotFound);
  ASSERT_TRUE(put(second).ok());
  ASSERT_TRUE(erase(first.name).ok());
  EXPECT_TRUE(read(second).ok());
  EXPECT_EQ(read(first).code(), Code::kNotFound);
}

TEST_F(Target, RefusesBytesThatDifferFromTheTable) {
  const TestFragment one = fragment();
  const std::string table = one.table();
  store::PutRequest request;
  request.name = one.name;
  request.geometry = one.geometry;
  request.table = as_bytes(table);
  auto session = world.scheduler.run(world.target->begin_put(request));
  ASSERT_TRUE(session.has_value());
  const auto room = world.scheduler.run(session->next_buffer());
  ASSERT_TRUE(room.has_value());
  std::ranges::fill(*room, std::byte{0x77});
  EXPECT_EQ(session->filled(room->size()).reason(), Reason::kHashMismatch);
  EXPECT_EQ(world.scheduler.run(session->finish()).code(), Code::kCorrupt);
  EXPECT_EQ(stat_code(one.name), Code::kNotFound);
}

TEST_F(Target, RefusesImpossibleRequestsAndNamesTheField) {
  TestFragment bad = fragment();
  bad.name.index = 9;
  const Status index = put(bad);
  EXPECT_EQ(index.code(), Code::kInvalid);
  EXPECT_NE(index.message().find("index"), std::string_view::npos);
  TestFragment huge = fragment();
  huge.geometry = {1, 0, static_cast<std::uint32_t>(kBlockBytes), 3 * kMiB};
  huge.name.index = 0;
  EXPECT_EQ(put(huge).reason(), Reason::kTooLarge);
}

TEST_F(Target, FindsAFlippedBitByReadAndByScrub) {
  const TestFragment one = fragment(40);
  ASSERT_TRUE(put(one).ok());
  const auto info = world.target->stat(one.name);
  ASSERT_TRUE(info.has_value());
  const std::string path = segment_path();
  const std::uint64_t data = info->segment_offset + info->header_bytes;
  // In the data, in the table, in the fixed part of the header.
  for (const std::uint64_t at :
       {data + 20 * kPageBytes + 5, info->segment_offset + 170, info->segment_offset + 60}) {
    world.disk.flip_bit(path, at, 6);
    const Status whole = read_whole(one);
    EXPECT_EQ(whole.code(), Code::kCorrupt) << at << ' ' << whole.to_string();
    const auto scrubbed = world.scheduler.run(world.target->scrub({}));
    ASSERT_TRUE(scrubbed.has_value());
    EXPECT_EQ(scrubbed->damaged_total, 1u) << at;
    world.disk.heal(path);
  }
  EXPECT_TRUE(read_whole(one).ok());
  EXPECT_EQ(world.target->take_damaged(), std::vector<FragmentName>{one.name});
}

TEST_F(Target, FindsAFlippedBitInEveryPartThatARangeAsksFor) {
  const TestFragment one = fragment(40);  // three blocks
  ASSERT_TRUE(put(one).ok());
  const auto info = world.target->stat(one.name);
  const std::string path = segment_path();
  for (std::uint64_t block = 0; block < 3; ++block) {
    const std::uint64_t at = info->segment_offset + info->header_bytes + block * kBlockBytes + 99;
    world.disk.flip_bit(path, at, 0);
    for (std::uint64_t asked = 0; asked < 3; ++asked) {
      const std::uint64_t offset = asked * kBlockBytes;
      const std::uint64_t length =
          std::min(kBlockBytes, layout::fragment_bytes(one.geometry) - offset);
      const Status done = read_range(one, {offset, length});
      EXPECT_EQ(done.code(), asked == block ? Code::kCorrupt : Code::kOk) << done.to_string();
    }
    world.disk.heal(path);
  }
}

TEST_F(Target, FindsSwappedAndZeroedFragments) {
  const TestFragment one = fragment(4), two = fragment(4);
  ASSERT_TRUE(put(one).ok());
  ASSERT_TRUE(put(two).ok());
  const auto a = world.target->stat(one.name), b = world.target->stat(two.name);
  const std::string path = segment_path();
  const std::uint64_t bytes = a->header_bytes + a->data_bytes;
  world.disk.misplace(path, a->segment_offset, bytes, b->segment_offset);
  EXPECT_EQ(read_whole(one).code(), Code::kCorrupt);
  EXPECT_TRUE(read_whole(two).ok());
  world.disk.heal(path);
  world.disk.zero(path, b->segment_offset, bytes);
  EXPECT_EQ(read_whole(two).code(), Code::kCorrupt);
  world.disk.heal(path);
}

TEST_F(Target, FailsOneReadAndNotItselfWhenTheDeviceCantRead) {
  const TestFragment one = fragment();
  ASSERT_TRUE(put(one).ok());
  world.disk.faults().fail(SimOperation::kRead, 0, EIO);
  EXPECT_EQ(read(one).code(), Code::kIo);
  EXPECT_FALSE(world.target->info().failed);
  EXPECT_TRUE(read(one).ok());
  EXPECT_TRUE(put(fragment()).ok());
}

TEST_F(Target, NeverRetriesAFailedFlush) {
  world.disk.faults().fail(SimOperation::kFlush, 0, EIO);
  const TestFragment one = fragment();
  EXPECT_EQ(put(one).code(), Code::kIo);
  EXPECT_TRUE(world.target->info().failed);
  EXPECT_EQ(world.disk.stats().failed(SimOperation::kFlush), 1u);
  EXPECT_EQ(put(fragment()).reason(), Reason::kTargetFailed);
  EXPECT_EQ(stat_code(one.name), Code::kNotFound);
}

TEST_F(Target, RefusesOlderEpochsAlsoAfterARestart) {
  const TestFragment one = fragment();
  ASSERT_TRUE(put(one).ok());
  ASSERT_TRUE(world.scheduler.run(world.target->advance_epoch({5}, {100})).ok());
  EXPECT_EQ(erase(one.name).reason(), Reason::kStaleEpoch);
  world.crash();
  open();
  EXPECT_EQ(erase(one.name).reason(), Reason::kStaleEpoch);
  EXPECT_TRUE(put(fragment()).ok()) << "puts are not refused for age";
  world.epoch = {5};
  EXPECT_TRUE(erase(one.name).ok());
}

TEST_F(Target, RefusesAMetadataThatWentBack) {
  ASSERT_TRUE(world.scheduler.run(world.target->advance_epoch({5}, {100})).ok());
  EXPECT_EQ(world.scheduler.run(world.target->advance_epoch({6}, {99})).reason(),
            Reason::kRolledBack);
  EXPECT_TRUE(world.scheduler.run(world.target->advance_epoch({6}, {100})).ok());
}

TEST_F(Target, RefusesEverythingOnceExpelledAlsoAfterARestart) {
  const TestFragment one = fragment();
  ASSERT_TRUE(put(one).ok());
  ASSERT_TRUE(world.scheduler.run(world.target->expel({9})).ok());
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(put(fragment()).code(), Code::kExpelled);
    EXPECT_EQ(read(one).code(), Code::kExpelled);
    EXPECT_EQ(erase(one.name).code(), Code::kExpelled);
    world.crash();
    open();
  }
}

TEST_F(Target, DeletesWorkWhenItIsFullAndPutsComeBack) {
  for (int round = 0; round < 3; ++round) {
    std::vector<FragmentName> names;
    Status last;
    while (last.ok()) {
      const TestFragment next = fragment(60);
      last = put(next);
      if (last.ok()) names.push_back(next.name);
    }
    ASSERT_EQ(last.code(), Code::kNoSpace) << last.to_string();
    ASSERT_GT(names.size(), 100u);
    // Somebody else takes the rest; the index has what was put aside for it.
    SimProcess stranger(world.disk);
    const std::uint64_t rest = round_down(world.disk.free_bytes(), kPageBytes);
    ASSERT_TRUE(world.scheduler.run(stranger.env().files.reserve("/stranger", rest)).ok());
    world.disk.options().store_write_needs_bytes = 64 * kKiB;
    while (!names.empty()) {
      const std::size_t some = std::min<std::size_t>(names.size(), 50);
      const std::vector<FragmentName> batch(names.end() - static_cast<std::ptrdiff_t>(some),
                                            names.end());
      names.resize(names.size() - some);
      const Status erased = world.scheduler.run(world.erase(batch));
      ASSERT_TRUE(erased.ok()) << erased.to_string();
    }
    ASSERT_TRUE(world.scheduler.run(stranger.env().files.remove("/stranger")).ok());
    world.scheduler.run_for(std::chrono::seconds(5));
  }
  EXPECT_FALSE(world.target->info().failed);
  EXPECT_TRUE(put(fragment()).ok());
}

TEST_F(Target, KeepsReservedSpaceForThoseWhoReservedIt) {
  const std::uint64_t free = world.target->info().free_bytes;
  ASSERT_TRUE(world.target->reserve(free - 64 * kPageBytes).ok());
  EXPECT_EQ(world.target->reserve(free).code(), Code::kNoSpace);
  EXPECT_TRUE(put(fragment(20)).ok());
  EXPECT_EQ(put(fragment(200)).code(), Code::kNoSpace);
  world.target->unreserve(free - 64 * kPageBytes);
  EXPECT_TRUE(put(fragment(200)).ok());
}

TEST_F(Target, GivesTheSpaceOfADroppedPutBack) {
  for (int i = 0; i < 20; ++i) {
    const TestFragment one = fragment(50);
    const std::string table = one.table();
    store::PutRequest request;
    request.name = one.name;
    request.geometry = one.geometry;
    request.table = as_bytes(table);
    auto session = world.scheduler.run(world.target->begin_put(request));
    ASSERT_TRUE(session.has_value());
    const auto room = world.scheduler.run(session->next_buffer());
    ASSERT_TRUE(room.has_value());
    std::memcpy(room->data(), one.data().data(), std::min(room->size(), kBlockBytes));
    EXPECT_TRUE(session->filled(std::min(room->size(), kBlockBytes)).ok());
  }
  world.close_and_check_no_leak();
  EXPECT_TRUE(world.violations.empty()) << world.violations.front();
}

TEST_F(Target, RefusesAnIndexThatWentBackInTime) {
  ASSERT_TRUE(put(fragment()).ok());
  world.scheduler.run_for(std::chrono::seconds(2));
  auto& store = *world.disk.names().find("/target/index")->store;
  const auto old = store.copy_synced();
  const TestFragment doomed = fragment();
  ASSERT_TRUE(put(doomed).ok());
  ASSERT_TRUE(erase(doomed.name).ok());
  world.kill();
  store.roll_back(old);
  const Status opened = world.open();
  EXPECT_EQ(opened.reason(), Reason::kRolledBack) << opened.to_string();
  EXPECT_NE(opened.message().find("rebuild-index"), std::string_view::npos);
}

TEST_F(Target, RebuildsItsIndexFromTheHeaders) {
  std::vector<TestFragment> kept;
  for (int i = 0; i < 40; ++i) {
    const TestFragment next = fragment(1 + i);
    ASSERT_TRUE(put(next).ok());
    if (i % 3 == 0) {
      ASSERT_TRUE(erase(next.name).ok());
    } else {
      kept.push_back(next);
    }
  }
  world.scheduler.run_for(std::chrono::seconds(5));
  ASSERT_TRUE(world.close().ok());
  ASSERT_TRUE(world.process->env().key_values.destroy("/target/index").ok());
  EXPECT_EQ(world.open().code(), Code::kCorrupt);
  const auto report = world.scheduler.run(store::rebuild_index(world.process->env(), "/target"));
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_EQ(report->fragments, kept.size());
  EXPECT_EQ(report->unverified, 0u);
  open();
  world.check();
  EXPECT_TRUE(world.violations.empty()) << world.violations.front();
}

TEST_F(Target, TakesNoHeadersFromInsideAPayload) {
  const TestFragment inner = fragment(6);
  ASSERT_TRUE(put(inner).ok());
  world.scheduler.run_for(std::chrono::seconds(2));
  // A whole segment file stored as the payload of fragments: every header in it is valid and names
  // another place.
  std::string payload = world.disk.content(segment_path()).substr(0, 40 * kPageBytes);
  TestFragment outer = fragment(1);
  outer.geometry = {1, 0, static_cast<std::uint32_t>(kBlockBytes), payload.size()};
  outer.name.index = 0;
  ASSERT_TRUE(put_bytes(outer, payload).ok());
  ASSERT_TRUE(world.close().ok());
  ASSERT_TRUE(world.process->env().key_values.destroy("/target/index").ok());
  const auto report = world.scheduler.run(store::rebuild_index(world.process->env(), "/target"));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->fragments, 2u);
  open();
  EXPECT_TRUE(read(inner).ok());
}

TEST_F(Target, TakesNoHeadersFromInsideADamagedPayloadEither) {
  const TestFragment inner = fragment(6);
  ASSERT_TRUE(put(inner).ok());
  world.scheduler.run_for(std::chrono::seconds(2));
  const std::string payload = world.disk.content(segment_path()).substr(0, 40 * kPageBytes);
  TestFragment outer = fragment(1);
  outer.geometry = {1, 0, static_cast<std::uint32_t>(kBlockBytes), payload.size()};
  outer.name.index = 0;
  ASSERT_TRUE(put_bytes(outer, payload).ok());
  ASSERT_TRUE(erase(inner.name).ok());
  const auto info = world.target->stat(outer.name);
  ASSERT_TRUE(info.has_value());
  world.scheduler.run_for(std::chrono::seconds(5));
  ASSERT_TRUE(world.close().ok());
  // The last block of the outer one is damaged, so a scan looks at every page inside it; there the
  // header and the data of the deleted one are whole, at a place that its header does not name.
  world.disk.flip_bit(segment_path(),
                      info->segment_offset + info->header_bytes + info->data_bytes - 1, 0);
  ASSERT_TRUE(world.process->env().key_values.destroy("/target/index").ok());
  const auto report = world.scheduler.run(store::rebuild_index(world.process->env(), "/target"));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->fragments, 1u);
  EXPECT_EQ(report->unverified, 1u);
  open();
  EXPECT_EQ(stat_code(inner.name), Code::kNotFound);
}

TEST_F(Target, IsNotServedTwice) {
  SimProcess second(world.disk);
  const auto opened = world.scheduler.run(store::TargetStore::open(second.env(), world.options()));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().reason(), Reason::kLocked);
}

TEST_F(Target, RefusesAnotherClusters) {
  ASSERT_TRUE(world.close().ok());
  store::StoreOptions options = world.options();
  options.expect_cluster.bytes.fill(0xab);
  const auto opened = world.scheduler.run(store::TargetStore::open(world.process->env(), options));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().reason(), Reason::kForeign);
  open();
}

TEST_F(Target, StopsAtAListingThatFailsHalfWay) {
  ASSERT_TRUE(put(fragment()).ok());
  ASSERT_TRUE(world.close().ok());
  world.disk.faults().fail(SimOperation::kList, 0, EIO);
  EXPECT_EQ(world.open().code(), Code::kIo);
  world.disk.faults().fail(SimOperation::kList, 0, EMFILE);
  EXPECT_EQ(world.open().reason(), Reason::kNoDescriptors);
  open();
  world.check();
  EXPECT_TRUE(world.violations.empty());
}

TEST_F(Target, IsInitialisedOnceAndOnlyInAnEmptyFolder) {
  env::Env env = world.process->env();
  EXPECT_EQ(world.scheduler.run(store::init_target(env, "/target", {})).code(), Code::kExists);
  ASSERT_TRUE(env.files.make_directory("/other").ok());
  ASSERT_TRUE(world.scheduler.run(env.files.replace("/other/thesis.tex", "words")).ok());
  const Status refused = world.scheduler.run(store::init_target(env, "/other", {}));
  EXPECT_EQ(refused.reason(), Reason::kForeign);
  EXPECT_NE(refused.message().find("thesis.tex"), std::string_view::npos);
  EXPECT_EQ(env.files.list("/other")->size(), 1u) << "nothing was added";
}

TEST_F(Target, AnswersADeleteOfWhatIsNotThere) { EXPECT_TRUE(erase(fragment().name).ok()); }

}  // namespace
}  // namespace cairn::sim

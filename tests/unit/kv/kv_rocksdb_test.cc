// What the model can't show: RocksDB's options, kills, locks, damage, a full disk, threads.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/utilities/options_util.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "engine/base/random.h"
#include "engine/base/units.h"
#include "engine/env/sync.h"
#include "engine/platform/kv/options.h"
#include "tests/unit/kv/kv_world.h"

namespace cairn {
namespace {

// ---- options ------------------------------------------------------------------------------------

TEST(RocksStores, RunsWithTheOptionsThatThePromisesRestOn) {
  KvWorld world;
  const auto store = world.opened(env::KeyValueOpen::kCreate);
  // What the database itself wrote down, not what we meant to give it.
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  const rocksdb::Status loaded =
      rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), world.path, &options, &families);
  ASSERT_TRUE(loaded.ok()) << loaded.ToString();
  EXPECT_EQ(options.wal_recovery_mode, rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords);
  EXPECT_EQ(options.recycle_log_file_num, 0u);
  EXPECT_FALSE(options.manual_wal_flush);
  EXPECT_TRUE(options.paranoid_checks);
  EXPECT_FALSE(options.avoid_flush_during_recovery);
  EXPECT_FALSE(options.unordered_write);
  EXPECT_FALSE(options.enable_pipelined_write);
  EXPECT_LE(options.max_total_wal_size, 64 * kMiB);
  EXPECT_GT(options.max_open_files, 0);
  EXPECT_LE(options.keep_log_file_num, 4u);
  EXPECT_GT(options.max_log_file_size, 0u);
  ASSERT_EQ(families.size(), 3u) << "default and ours";
  for (const auto& family : families) {
    EXPECT_LE(family.options.write_buffer_size, 16 * kMiB) << family.name;
    EXPECT_FALSE(family.options.inplace_update_support) << family.name;
  }
}

// ---- sync ---------------------------------------------------------------------------------------

Task<Status> write_and_sync(env::KeyValue& store, std::string key, std::thread::id home) {
  CO_TRY_VOID(put(store, key, "x"));
  CO_TRY_VOID(co_await store.sync());
  EXPECT_EQ(std::this_thread::get_id(), home) << "resumed on another thread";
  co_return Status();
}

Task<Status> many_writers(env::KeyValue& store, Executor executor) {
  TaskGroup group(executor);
  for (int i = 0; i < 64; ++i) {
    group.spawn(write_and_sync(store, "k" + std::to_string(i), std::this_thread::get_id()));
  }
  co_return co_await group.join();
}

TEST(RocksStores, ServesManyWhoSyncAtOnceOnTheirOwnThread) {
  KvWorld world;
  const auto store = world.opened(env::KeyValueOpen::kCreate);
  const Status done = world.run(many_writers(*store, world.context.get_executor()));
  EXPECT_TRUE(done.ok()) << done.to_string();
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(store->get(0, "k" + std::to_string(i))->has_value());
}

// ---- kills --------------------------------------------------------------------------------------

constexpr const char* kChildPath = "CAIRN_TEST_STORE";

/// The child of the test below: writes 1, 2, 3 ... and says on stdout how far it is.
TEST(RocksStoresChild, DISABLED_WritesUntilItIsKilled) {
  const char* path = std::getenv(kChildPath);
  if (path == nullptr) GTEST_SKIP() << "run by RocksStores.KeepsEveryWriteThatReturned...";
  KvWorld world;
  world.path = path;
  auto store = world.opened(env::KeyValueOpen::kExisting);
  std::uint64_t n = 0;
  while (store->get(0, std::to_string(n + 1))->has_value()) ++n;
  for (;;) {
    ++n;
    if (!put(*store, std::to_string(n), std::string(200, 'v')).ok()) return;
    if (n % 16 == 0 && !world.run(store->sync()).ok()) return;
    if (::write(STDOUT_FILENO, &n, sizeof n) != sizeof n) return;
  }
}

struct Child {
  pid_t pid = 0;
  int pipe = -1;
};

Child start_child() {
  int ends[2];
  CAIRN_CHECK(::pipe(ends) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=RocksStoresChild.*";
  std::string disabled = "--gtest_also_run_disabled_tests";
  std::string quiet = "--gtest_brief=1";
  char* arguments[] = {program.data(), filter.data(), disabled.data(), quiet.data(), nullptr};
  Child child;
  CAIRN_CHECK(::posix_spawn(&child.pid, program.c_str(), &actions, nullptr, arguments, environ) ==
              0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  child.pipe = ends[0];
  return child;
}

/// The last number that the child acknowledged, after `target` more of them and a kill.  gtest's
/// own lines come first on the same pipe; the numbers are found behind them.
std::uint64_t kill_after(const Child& child, std::size_t bytes) {
  std::string said;
  char buffer[4096];
  ssize_t got = 0;
  bool killed = false;
  while ((got = ::read(child.pipe, buffer, sizeof buffer)) > 0) {
    said.append(buffer, static_cast<std::size_t>(got));
    if (!killed && said.size() >= bytes) {
      ::kill(child.pid, SIGKILL);
      killed = true;
    }
  }
  ::close(child.pipe);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << said;
  std::uint64_t last = 0;
  if (said.size() >= sizeof last) {
    std::memcpy(&last, said.data() + said.size() - sizeof last, sizeof last);
  }
  return last;
}

TEST(RocksStores, KeepsEveryWriteThatReturnedWhenItsProcessIsKilled) {
  KvWorld world;
  world.opened(env::KeyValueOpen::kCreate).reset();
  ::setenv(kChildPath, world.path.c_str(), 1);
  // A killed child can't remove the folder it made: it makes it inside ours.
  const char* variable = std::getenv("TMPDIR");
  const std::string before_us = variable == nullptr ? "" : variable;
  ::setenv("TMPDIR", world.folder.path().c_str(), 1);
  const auto seed = static_cast<std::uint64_t>(::getpid());
  SCOPED_TRACE("seed " + std::to_string(seed));
  SplitMix64 random(seed);
  std::uint64_t before = 0;
  for (int round = 0; round < 5; ++round) {
    const std::uint64_t said = kill_after(start_child(), 200 + random.below(40'000));
    const auto store = world.opened(env::KeyValueOpen::kExisting);
    std::uint64_t kept = 0;
    while (store->get(0, std::to_string(kept + 1))->has_value()) ++kept;
    EXPECT_GE(kept, said);
    EXPECT_GT(kept, before);
    EXPECT_LE(kept, said + 1) << "one may have been written and not yet told";
    before = kept;
  }
  ::unsetenv(kChildPath);
  variable == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_us.c_str(), 1);
}

// ---- locks, damage, space -----------------------------------------------------------------------

TEST(RocksStores, RefusesASecondOpenAndSaysWhy) {
  KvWorld world;
  const auto store = world.opened(env::KeyValueOpen::kCreate);
  const auto second = world.open(env::KeyValueOpen::kExisting);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().reason(), Reason::kLocked) << second.error().to_string();
  const Status destroyed = world.stores->destroy(world.path);
  EXPECT_EQ(destroyed.reason(), Reason::kLocked) << destroyed.to_string();
  EXPECT_TRUE(put(*store, "k", "x").ok());
}

std::vector<std::filesystem::path> files_named(const std::string& folder, const std::string& part) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find(part) != std::string::npos) {
      found.push_back(entry.path());
    }
  }
  return found;
}

void flip_byte(const std::filesystem::path& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 0x40));
}

/// A store whose rows lie in tables, not in the log.
void fill(KvWorld& world) {
  auto store = world.opened(env::KeyValueOpen::kCreate);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(put(*store, "key " + std::to_string(i), std::string(100, 'v')).ok());
  }
  store.reset();
  world.opened(env::KeyValueOpen::kExisting).reset();
  ASSERT_FALSE(files_named(world.path, ".sst").empty());
}

TEST(RocksStores, CallsADamagedOrMissingTableCorruptAndSaysWhatToDo) {
  KvWorld damaged;
  fill(damaged);
  for (const auto& table : files_named(damaged.path, ".sst")) {
    flip_byte(table, std::filesystem::file_size(table) / 3);
  }
  auto store = damaged.open(env::KeyValueOpen::kExisting);
  if (store) {
    const auto scan = (*store)->scan(0, "", "");
    auto row = scan->next();
    while (row.has_value() && row->has_value()) row = scan->next();
    ASSERT_FALSE(row.has_value()) << "damage was not seen";
    EXPECT_EQ(row.error().code(), Code::kCorrupt) << row.error().to_string();
  } else {
    EXPECT_EQ(store.error().code(), Code::kCorrupt) << store.error().to_string();
  }

  KvWorld missing;
  fill(missing);
  for (const auto& table : files_named(missing.path, ".sst")) std::filesystem::remove(table);
  const auto opened = missing.open(env::KeyValueOpen::kExisting);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), Code::kCorrupt) << opened.error().to_string();
  EXPECT_NE(opened.error().message().find("rebuild-index"), std::string_view::npos);
}

TEST(RocksStores, CallsADamagedManifestCorruptAndCanDestroyIt) {
  KvWorld world;
  fill(world);
  for (const auto& manifest : files_named(world.path, "MANIFEST")) {
    flip_byte(manifest, std::filesystem::file_size(manifest) / 2);
  }
  const auto opened = world.open(env::KeyValueOpen::kExisting);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), Code::kCorrupt) << opened.error().to_string();
  EXPECT_TRUE(world.stores->destroy(world.path).ok());
  EXPECT_FALSE(std::filesystem::exists(world.path));
  EXPECT_TRUE(world.open(env::KeyValueOpen::kCreate).has_value());
}

TEST(RocksStores, OpensFamiliesThatAnotherVersionLeft) {
  KvWorld world;
  {
    auto store = world.open(env::KeyValueOpen::kCreate, {"one", "two", "three"});
    ASSERT_TRUE(store.has_value());
    ASSERT_TRUE(put(**store, "k", "x").ok());
  }
  auto fewer = world.open(env::KeyValueOpen::kExisting, {"two", "one"});
  ASSERT_TRUE(fewer.has_value()) << fewer.error().to_string();
  EXPECT_FALSE((*fewer)->get(0, "k")->has_value());
  EXPECT_TRUE((*fewer)->get(1, "k")->has_value());
}

class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=96m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  void fill_but(std::uint64_t bytes) {
    std::ofstream(path_ + "/ballast") << std::string(96 * kMiB - bytes, 'b');
  }
  void make_room() { std::filesystem::remove(path_ + "/ballast"); }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST(RocksStores, GoesOnAfterAFullDiskAndLosesNothingThatReturned) {
  KvWorld world;
  SmallDisk disk(world.folder.path() + "/small");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  world.path = world.folder.path() + "/small/store";
  auto store = world.opened(env::KeyValueOpen::kCreate);
  disk.fill_but(16 * kMiB);
  Status full;
  std::uint64_t kept = 0;
  while (full.ok() && kept < 10'000) {
    full = put(*store, std::to_string(kept), std::string(4000, 'v'));
    if (full.ok()) ++kept;
  }
  EXPECT_EQ(full.code(), Code::kNoSpace) << full.to_string();
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(put(*store, "after", "x").code(), Code::kNoSpace);
  EXPECT_EQ(world.run(store->sync()).code(), Code::kNoSpace);
  EXPECT_TRUE(store->get(0, "0")->has_value()) << "reads go on";

  disk.make_room();
  auto scan = store->scan(0, "", "");
  EXPECT_EQ(put(*store, "after", "x").code(), Code::kNoSpace) << "a scan holds the old one";
  EXPECT_TRUE(scan->next()->has_value());
  scan.reset();
  const Status again = put(*store, "after", "x");
  EXPECT_TRUE(again.ok()) << again.to_string();
  EXPECT_TRUE(world.run(store->sync()).ok());
  store.reset();
  store = world.opened(env::KeyValueOpen::kExisting);
  EXPECT_TRUE(store->get(0, "after")->has_value());
  for (std::uint64_t i = 0; i < kept; ++i) {
    ASSERT_TRUE(store->get(0, std::to_string(i))->has_value()) << i << " of " << kept;
  }
}

}  // namespace
}  // namespace cairn

// A file system that runs full, by our own fragments and by others' files: nothing half-written is
// visible, deletes work at 100 %, and puts go on as soon as there is room, without a restart.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>

#include "bench/cairn_bench/target/fragment_io.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "engine/env/sync.h"
#include "server/host/target_host.h"
#include "tests/crash/support/loop_fs.h"
#include "tests/crash/support/work_folder.h"

namespace cairn::crash {
namespace {

constexpr std::uint64_t kFsBytes = 400 * kMiB;
constexpr std::uint64_t kRounds = 5;
constexpr std::uint64_t kObjectMax = 4 * kMiB;

/// A target on a small file system of its own.
class FullTarget : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = LoopFs::unavailable("ext4"); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    set_log_level(LogLevel::kWarn);
    auto fs = LoopFs::make(work_.path(), "ext4", kFsBytes);
    ASSERT_TRUE(fs) << fs.error().to_string();
    fs_ = *std::move(fs);
    auto host = server::TargetHost::make();
    ASSERT_TRUE(host) << host.error().to_string();
    host_ = *std::move(host);
    const std::string directory = fs_->mount_point() + "/target";
    const Status made = host_->run(store::init_target(host_->env(), directory, {}));
    ASSERT_TRUE(made.ok()) << made.to_string();
    open();
  }

  void open() {
    store::StoreOptions options;
    options.directory = fs_->mount_point() + "/target";
    auto opened = host_->run(store::TargetStore::open(host_->env(), options));
    ASSERT_TRUE(opened) << opened.error().to_string();
    target_ = *std::move(opened);
  }

  void close() {
    const Status closed = host_->run(target_->close());
    EXPECT_TRUE(closed.ok()) << closed.to_string();
    target_.reset();
  }

  void TearDown() override {
    if (target_) close();
    host_.reset();
    fs_.reset();
  }

  Bytes payload(const FragmentName& name, std::uint64_t bytes) {
    SplitMix64 random(name.object.counter);
    const MutableBytes memory = buffer_.memory().first(bytes);
    for (std::size_t at = 0; at < bytes; at += 8) store_le(memory.data() + at, random.next());
    return memory;
  }

  Status put_one(std::uint64_t bytes) {
    FragmentName name;
    name.object = {1, ++counter_};
    const Bytes bytes_of_it = payload(name, bytes);
    const bench::Object object = bench::make_object(name, bytes, bytes_of_it);
    Status done = host_->run(bench::put_object(*target_, object, bytes_of_it));
    if (done.ok()) live_.push_back(name);
    return done;
  }

  std::uint64_t random_bytes() { return round_up(random_.between(1, kObjectMax), kPageBytes); }

  /// Until the target says that it is full; the bytes that went in.
  std::uint64_t fill() {
    std::uint64_t total = 0;
    for (;;) {
      const std::uint64_t bytes = random_bytes();
      Status done = put_one(bytes);
      if (done.code() == Code::kNoSpace) return total;
      EXPECT_TRUE(done.ok()) << done.to_string();
      if (!done.ok()) return total;
      total += bytes;
    }
  }

  void remove(std::size_t count) {
    std::vector<FragmentName> names(live_.end() - static_cast<std::ptrdiff_t>(count), live_.end());
    live_.resize(live_.size() - count);
    for (std::size_t at = 0; at < names.size(); at += kDeleteBatchMax) {
      const std::size_t end = std::min<std::size_t>(names.size(), at + kDeleteBatchMax);
      const std::vector<FragmentName> batch(names.begin() + static_cast<std::ptrdiff_t>(at),
                                            names.begin() + static_cast<std::ptrdiff_t>(end));
      const Status done = host_->run(target_->delete_fragments(batch, Epoch{}));
      EXPECT_TRUE(done.ok()) << done.to_string();
    }
    wait_until_given_back();
  }

  /// Blocks follow the acknowledgement; a minute is ten times what a slow machine needs.
  void wait_until_given_back() {
    const auto limit = host_->env().clock.now() + std::chrono::seconds(60);
    while (target_->info().dead_extents > 0) {
      ASSERT_LT(host_->env().clock.now(), limit) << "deleted blocks are not given back";
      pause();
    }
  }

  void pause() { host_->run(pause_for(host_->env(), std::chrono::milliseconds(10))); }
  static Task<bool> pause_for(env::Env env, env::Duration duration) {
    co_await sleep_until(env.clock, env.executor, env.clock.now() + duration);
    co_return true;
  }

  /// Everything that was acknowledged, and nothing else.
  void check_all() {
    std::set<FragmentName> listed;
    std::optional<FragmentName> after;
    for (;;) {
      const auto page = target_->list(after, kListPageMax);
      ASSERT_TRUE(page) << page.error().to_string();
      if (page->empty()) break;
      after = page->back().name;
      for (const auto& info : *page) listed.insert(info.name);
    }
    EXPECT_EQ(listed, std::set<FragmentName>(live_.begin(), live_.end()));
    for (const FragmentName& name : live_) {
      const auto got = host_->run(bench::get_verified(*target_, name, read_.memory()));
      ASSERT_TRUE(got) << to_string(name) << ": " << got.error().to_string();
      const Bytes expected = payload(name, *got);
      EXPECT_TRUE(std::ranges::equal(expected, read_.memory().first(*got))) << to_string(name);
    }
  }

  /// A foreign file that takes every block that is left.
  void fill_file_system() {
    const std::string path = fs_->mount_point() + "/foreign";
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    off_t at = 0;
    for (off_t step = 64 << 20; step >= 1024;) {
      if (::posix_fallocate(file, at, step) == 0) {
        at += step;
      } else {
        step /= 2;
      }
    }
    ::close(file);
    const auto space = host_->env().files.space(fs_->mount_point());
    ASSERT_TRUE(space) << space.error().to_string();
    EXPECT_LT(space->free_bytes, 64 * kKiB);
  }
  void remove_foreign_file() { ASSERT_EQ(::unlink((fs_->mount_point() + "/foreign").c_str()), 0); }

  const WorkFolder work_;
  std::unique_ptr<LoopFs> fs_;
  std::unique_ptr<server::TargetHost> host_;
  std::unique_ptr<store::TargetStore> target_;
  SplitMix64 random_{seed_from_environment()};
  bench::AlignedBuffer buffer_{kObjectMax};
  bench::AlignedBuffer read_{kObjectMax};
  std::uint64_t counter_ = 0;
  std::vector<FragmentName> live_;
};

TEST_F(FullTarget, TakesFragmentsAgainAfterEachRoundOfDeletes) {
  const std::uint64_t first = fill();
  EXPECT_GT(first, kFsBytes / 2);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    check_all();
    // All of them, or one half from everywhere.
    const bool all = round % 2 == 1;
    if (!all)
      std::shuffle(live_.begin(), live_.end(), std::minstd_rand(static_cast<unsigned>(round)));
    remove(all ? live_.size() : live_.size() / 2);
    const std::uint64_t again = fill();
    EXPECT_GT(again, all ? first * 8 / 10 : first * 3 / 10) << "round " << round;
  }
  check_all();
  close();
  open();
  check_all();
}

TEST_F(FullTarget, DeletesAndGoesOnWhenOthersFillTheFileSystem) {
  for (int i = 0; i < 40; ++i) {
    const Status done = put_one(random_bytes());
    ASSERT_TRUE(done.ok()) << done.to_string();
  }
  for (int round = 0; round < 3; ++round) {
    fill_file_system();
    // What still fits into the open segment may go in; then it is full, never failed.
    Status refused;
    for (int i = 0; i < 200 && refused.ok(); ++i) refused = put_one(kObjectMax);
    EXPECT_EQ(refused.code(), Code::kNoSpace) << refused.to_string();
    remove(live_.size() / 3);
    EXPECT_FALSE(target_->info().failed) << target_->info().failure;
    check_all();

    // A restart on the full file system: reads and deletes must work then, too.
    if (round == 1) {
      close();
      open();
      check_all();
      remove(live_.size() / 3);
    }
    remove_foreign_file();
    Status resumed;
    for (int i = 0; i < 100; ++i) {
      resumed = put_one(kObjectMax);
      if (resumed.ok()) break;
      pause();
    }
    EXPECT_TRUE(resumed.ok()) << resumed.to_string();
  }
  close();
  open();
  check_all();
}

}  // namespace
}  // namespace cairn::crash

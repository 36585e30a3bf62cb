// A target met with the wrong rights, limits or owner: it says what is wrong, and never that a
// fragment is absent (I7).
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "bench/cairn_bench/target/ack_journal.h"
#include "bench/cairn_bench/target/child.h"
#include "bench/cairn_bench/target/fragment_io.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "server/host/target_host.h"
#include "tests/crash/support/work_folder.h"

namespace cairn::crash {
namespace {

constexpr std::uint64_t kObject = 60 * kKiB;
/// More than the descriptors that are allowed below.
constexpr std::uint64_t kSegments = 100;
constexpr std::uint64_t kFewDescriptors = 64;
constexpr std::chrono::seconds kLimit{60};

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Limits : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }

  std::string directory() const { return work_ / "target"; }
  std::string journal() const { return work_ / "journal"; }

  /// A target with so many small segments that not all can be open at once.
  void make_target() {
    auto host = server::TargetHost::make();
    ASSERT_TRUE(host) << host.error().to_string();
    store::InitOptions init;
    init.capacity_bytes = 256 * kMiB;
    init.segment_bytes = 2 * kObject;
    init.cluster.bytes[0] = 7;
    const Status made = (*host)->run(store::init_target((*host)->env(), directory(), init));
    ASSERT_TRUE(made.ok()) << made.to_string();
    store::StoreOptions options;
    options.directory = directory();
    auto target = (*host)->run(store::TargetStore::open((*host)->env(), options));
    ASSERT_TRUE(target) << target.error().to_string();
    auto acks = bench::AckJournal::open(journal());
    ASSERT_TRUE(acks) << acks.error().to_string();
    const bench::AlignedBuffer buffer(kObject);
    for (std::uint64_t i = 1; i <= kSegments; ++i) {
      FragmentName name;
      name.object = {1, i};
      buffer.memory()[0] = static_cast<std::byte>(i);
      const bench::Object object = bench::make_object(name, kObject, buffer.memory());
      const Status put = (*host)->run(bench::put_object(**target, object, buffer.memory()));
      ASSERT_TRUE(put.ok()) << put.to_string();
      const Status noted = acks->put(name, kObject, hash64(buffer.memory()), {});
      ASSERT_TRUE(noted.ok()) << noted.to_string();
    }
    EXPECT_GE((*target)->info().segments, kSegments);
    const Status closed = (*host)->run((*target)->close());
    EXPECT_TRUE(closed.ok()) << closed.to_string();
  }

  struct Outcome {
    int status = -1;
    std::string output;
  };
  Outcome run(std::vector<std::string> command, std::optional<uid_t> user,
              std::uint64_t descriptors) {
    Outcome outcome;
    const std::string output = work_ / "output";
    ::unlink(output.c_str());
    auto child = bench::Child::start({std::move(command), output, descriptors, user});
    EXPECT_TRUE(child) << child.error().to_string();
    if (!child) return outcome;
    outcome.status = child->wait(kLimit).value_or(-1);
    outcome.output = read_text(output);
    return outcome;
  }

  const WorkFolder work_;
};

/// The judge prints "not found" for each fragment that the target called absent.
void expect_nothing_called_absent(const std::string& output) {
  EXPECT_EQ(output.find("not found"), std::string::npos) << output;
}

TEST_F(Limits, FewDescriptorsAreAClearErrorOrWorkButNeverAbsence) {
  make_target();
  for (const std::uint64_t descriptors : {kFewDescriptors, kFewDescriptors / 2, kFewDescriptors / 4,
                                          std::uint64_t{10}, std::uint64_t{6}}) {
    SCOPED_TRACE(descriptors);
    const Outcome outcome =
        run({CAIRN_BENCH, "target", directory(), "--verify", journal()}, std::nullopt, descriptors);
    expect_nothing_called_absent(outcome.output);
    if (outcome.status == 0) continue;
    EXPECT_TRUE(outcome.output.find("limit of open files") != std::string::npos ||
                outcome.output.find("Too many open files") != std::string::npos)
        << "status " << outcome.status << ": " << outcome.output;
  }
  // And nothing was harmed by it.
  const Outcome after =
      run({CAIRN_BENCH, "target", directory(), "--verify", journal()}, std::nullopt, 0);
  EXPECT_EQ(after.status, 0) << after.output;
}

TEST_F(Limits, AnUnprivilegedUserWithLittleLockedMemoryCanServeItsTarget) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root (to become another user)";
  const passwd* const nobody = ::getpwnam("nobody");
  if (nobody == nullptr) GTEST_SKIP() << "there is no user nobody";
  work_.open_to_all();
  const std::string tree = work_ / "tree";
  ASSERT_EQ(::mkdir(tree.c_str(), 0755), 0);
  std::ofstream(tree + "/file") << std::string(300'000, 'x');
  ::chmod((tree + "/file").c_str(), 0644);

  const Outcome made = run({CAIRN_CLI, "target", "init", directory(), "--capacity", "1GiB"},
                           nobody->pw_uid, kFewDescriptors);
  ASSERT_EQ(made.status, 0) << made.output;
  const Outcome wrote =
      run({CAIRN_BENCH, "target", directory(), "--from", tree, "--acks", journal()}, nobody->pw_uid,
          kFewDescriptors);
  ASSERT_EQ(wrote.status, 0) << wrote.output;
  const Outcome read = run({CAIRN_BENCH, "target", directory(), "--verify", journal()},
                           nobody->pw_uid, kFewDescriptors);
  EXPECT_EQ(read.status, 0) << read.output;
}

TEST_F(Limits, AUserWithoutRightsIsToldSoAndNotThatThereIsNoTarget) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root (to become another user)";
  const passwd* const nobody = ::getpwnam("nobody");
  if (nobody == nullptr) GTEST_SKIP() << "there is no user nobody";
  make_target();
  work_.open_to_all();
  for (const char* command : {"inspect", "scrub", "rebuild-index", "init"}) {
    const Outcome outcome = run({CAIRN_CLI, "target", command, directory()}, nobody->pw_uid, 0);
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_NE(outcome.output.find("Permission denied"), std::string::npos) << outcome.output;
    expect_nothing_called_absent(outcome.output);
  }
}

TEST_F(Limits, ASecondProcessIsRefusedWhileTheFirstHasTheTarget) {
  make_target();
  auto host = server::TargetHost::make();
  ASSERT_TRUE(host) << host.error().to_string();
  store::StoreOptions options;
  options.directory = directory();
  auto target = (*host)->run(store::TargetStore::open((*host)->env(), options));
  ASSERT_TRUE(target) << target.error().to_string();
  for (const char* command : {"scrub", "rebuild-index"}) {
    const Outcome outcome = run({CAIRN_CLI, "target", command, directory()}, std::nullopt, 0);
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_NE(outcome.output.find("locked"), std::string::npos) << outcome.output;
  }
  // Looking on is allowed.
  const Outcome inspected =
      run({CAIRN_CLI, "target", "inspect", "--json", directory()}, std::nullopt, 0);
  EXPECT_EQ(inspected.status, 0) << inspected.output;
  const Status closed = (*host)->run((*target)->close());
  EXPECT_TRUE(closed.ok()) << closed.to_string();
}

TEST_F(Limits, ATargetOfAnotherClusterIsRefused) {
  make_target();
  auto host = server::TargetHost::make();
  ASSERT_TRUE(host) << host.error().to_string();
  store::StoreOptions options;
  options.directory = directory();
  options.expect_cluster.bytes[0] = 8;
  const auto target = (*host)->run(store::TargetStore::open((*host)->env(), options));
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code(), Code::kInvalid);
  EXPECT_EQ(target.error().reason(), Reason::kForeign) << target.error().to_string();
}

TEST_F(Limits, InitChangesNothingInAFolderThatHoldsOtherFiles) {
  const std::string folder = work_ / "folder";
  ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
  std::ofstream(folder + "/thesis.txt") << "precious";
  const Outcome refused = run({CAIRN_CLI, "target", "init", folder}, std::nullopt, 0);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.output.find("thesis.txt"), std::string::npos) << refused.output;
  const Outcome listing = run({"ls", "-A", folder}, std::nullopt, 0);
  EXPECT_EQ(listing.output, "thesis.txt\n");
}

}  // namespace
}  // namespace cairn::crash

// POSIX files: what is an error, what is an answer, and what is on the disk in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "engine/platform/platform.h"
#include "tests/unit/platform/on_context.h"
#include "tests/unit/platform/system_calls.h"

namespace cairn::platform {
namespace {

using ::testing::ElementsAre;
using testing::run_on_context;
using testing::system_calls;
using testing::TestFolder;

struct FilesTest : ::testing::Test {
  FilesTest() { system_calls() = {}; }
  ~FilesTest() override { system_calls() = {}; }

  Status replace(const std::string& path, const std::string& bytes) {
    return run_on_context(context, files->replace(path, bytes));
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    const auto entries = files->list(folder.path());
    for (const auto& entry : entries.value()) out.push_back(entry.name);
    return out;
  }

  TestFolder folder;
  boost::asio::io_context context;
  std::unique_ptr<env::Files> files = make_files(context);
};

TEST_F(FilesTest, ListsAllEntriesInNameOrderWithKindAndSize) {
  ASSERT_TRUE(files->make_directory(folder / "b").ok());
  std::ofstream(folder / "c") << "12345";
  std::ofstream(folder / ".a") << "";
  const auto entries = files->list(folder.path());
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(names(), (std::vector<std::string>{".a", "b", "c"}));
  EXPECT_TRUE((*entries)[1].is_directory);
  EXPECT_FALSE((*entries)[2].is_directory);
  EXPECT_EQ((*entries)[2].bytes, 5U);
}

TEST_F(FilesTest, CallsAListingThatBreaksOffAnErrorAndNotAShorterListing) {
  for (const char* name : {"a", "b", "c"}) std::ofstream(folder / name) << "";
  system_calls().fail_readdir_at = 3;
  const auto entries = files->list(folder.path());
  ASSERT_FALSE(entries.has_value());
  EXPECT_EQ(entries.error().code(), Code::kIo);
}

TEST_F(FilesTest, SaysNotFoundOnlyWhenThereIsNothing) {
  EXPECT_EQ(files->list(folder / "none").error().code(), Code::kNotFound);
  EXPECT_EQ(files->read(folder / "none", 10).error().code(), Code::kNotFound);
  EXPECT_EQ(run_on_context(context, files->remove(folder / "none")).code(), Code::kNotFound);
  std::ofstream(folder / "file") << "x";
  EXPECT_EQ(files->read(folder / "file/below", 10).error().reason(), Reason::kNotDirectory);
  EXPECT_EQ(files->list(folder / "file").error().reason(), Reason::kNotDirectory);
}

TEST_F(FilesTest, SaysNoDescriptorsWhenThereAreNone) {
  std::ofstream(folder / "file") << "x";
  const int next = ::dup(0);
  ::close(next);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto listed = files->list(folder.path());
  const auto got = files->read(folder / "file", 10);
  const auto locked = files->lock(folder / "file");
  const Status replaced = replace(folder / "file", "y");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(listed.error().reason(), Reason::kNoDescriptors);
  EXPECT_EQ(got.error().reason(), Reason::kNoDescriptors);
  EXPECT_EQ(locked.error().reason(), Reason::kNoDescriptors);
  EXPECT_EQ(replaced.reason(), Reason::kNoDescriptors);
}

TEST_F(FilesTest, ReadsAWholeFileUpToTheGivenLengthAndRefusesMore) {
  const std::string bytes(200'000, 'x');
  std::ofstream(folder / "file") << bytes;
  EXPECT_EQ(files->read(folder / "file", 200'000).value(), bytes);
  EXPECT_EQ(files->read(folder / "file", 199'999).error().reason(), Reason::kTooLarge);
  std::ofstream(folder / "empty") << "";
  EXPECT_EQ(files->read(folder / "empty", 0).value(), "");
}

TEST_F(FilesTest, RefusesToReadWhatIsNotAFileWithoutWaitingForIt) {
  EXPECT_EQ(files->read(folder.path(), 10).error().reason(), Reason::kIsDirectory);
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(files->read(folder / "fifo", 10).error().code(), Code::kInvalid);
}

TEST_F(FilesTest, MakesOneDirectoryAndSaysWhenTheNameIsTaken) {
  EXPECT_TRUE(files->make_directory(folder / "d").ok());
  EXPECT_EQ(files->make_directory(folder / "d").code(), Code::kExists);
  EXPECT_EQ(files->make_directory(folder / "none/d").code(), Code::kNotFound);
}

TEST_F(FilesTest, ReportsSpaceOfTheFileSystem) {
  const auto space = files->space(folder.path());
  ASSERT_TRUE(space.has_value());
  EXPECT_GT(space->total_bytes, 0U);
  EXPECT_LE(space->free_bytes, space->total_bytes);
  EXPECT_EQ(files->space(folder / "none").error().code(), Code::kNotFound);
}

TEST_F(FilesTest, RefusesASecondLockInTheSameProcess) {
  auto first = files->lock(folder / "lock");
  ASSERT_TRUE(first.has_value());
  const auto second = files->lock(folder / "lock");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), Code::kUnavailable);
  EXPECT_EQ(second.error().reason(), Reason::kLocked);
  EXPECT_EQ(make_files(context)->lock(folder / "lock").error().reason(), Reason::kLocked);
  first->reset();
  EXPECT_TRUE(files->lock(folder / "lock").has_value());
}

TEST_F(FilesTest, RefusesALockThatAnotherProcessHoldsUntilItDies) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = files->lock(folder / "lock");
    const char answer = lock.has_value() ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_EQ(files->lock(folder / "lock").error().reason(), Reason::kLocked);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(files->lock(folder / "lock").has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FilesTest, ReplacesAFileBySyncThenRenameThenDirectorySync) {
  ASSERT_TRUE(replace(folder / "file", "one").ok());
  EXPECT_THAT(system_calls().order, ElementsAre("fsync file", "rename", "fsync directory"));
  ASSERT_TRUE(replace(folder / "file", "").ok());
  EXPECT_EQ(files->read(folder / "file", 10).value(), "");
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(FilesTest, KeepsTheOldBytesAndNoLeftoverWhenAReplaceFails) {
  ASSERT_TRUE(replace(folder / "file", "old").ok());
  system_calls() = {};
  system_calls().fail_fsync_at = 0;
  EXPECT_EQ(replace(folder / "file", "new").code(), Code::kIo);
  EXPECT_EQ(system_calls().fsyncs, 1);  // a failed sync is never repeated
  system_calls() = {};
  system_calls().fail_rename_at = 0;
  EXPECT_EQ(replace(folder / "file", "new").code(), Code::kIo);
  EXPECT_EQ(files->read(folder / "file", 10).value(), "old");
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(FilesTest, DoesNotCallAReplaceDurableWhenTheDirectorySyncFailed) {
  system_calls().fail_fsync_at = 1;
  EXPECT_EQ(replace(folder / "file", "new").code(), Code::kIo);
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(FilesTest, WritesOverWhatACrashLeftOfAnEarlierReplace) {
  std::ofstream(folder / "file" + std::string(kTemporarySuffix)) << std::string(100, 'z');
  ASSERT_TRUE(replace(folder / "file", "new").ok());
  EXPECT_EQ(files->read(folder / "file", 1000).value(), "new");
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(FilesTest, OverwritesInPlaceAndSyncs) {
  ASSERT_TRUE(replace(folder / "file", "old").ok());
  struct stat before{};
  ASSERT_EQ(::stat((folder / "file").c_str(), &before), 0);
  system_calls() = {};
  ASSERT_TRUE(run_on_context(context, files->overwrite(folder / "file", "new")).ok());
  EXPECT_THAT(system_calls().order, ElementsAre("fdatasync"));
  EXPECT_EQ(files->read(folder / "file", 10).value(), "new");
  struct stat after{};
  ASSERT_EQ(::stat((folder / "file").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
}

TEST_F(FilesTest, OverwritesOnlyAFileOfTheSameLength) {
  const auto overwrite = [this](const std::string& name, const std::string& bytes) {
    return run_on_context(context, files->overwrite(folder / name, bytes)).code();
  };
  EXPECT_EQ(overwrite("file", "new"), Code::kNotFound);
  ASSERT_TRUE(replace(folder / "file", "old").ok());
  EXPECT_EQ(overwrite("file", "longer"), Code::kInvalid);
  EXPECT_EQ(overwrite("file", ""), Code::kInvalid);
  EXPECT_EQ(files->read(folder / "file", 10).value(), "old");
  system_calls() = {};
  system_calls().fail_fsync_at = 0;
  EXPECT_EQ(overwrite("file", "new"), Code::kIo);
  EXPECT_EQ(system_calls().fsyncs, 1);  // a failed sync is never repeated
}

TEST_F(FilesTest, ReservesRealBlocksAndKeepsThem) {
  ASSERT_TRUE(run_on_context(context, files->reserve(folder / "file", 1'000'000)).ok());
  struct stat info{};
  ASSERT_EQ(::stat((folder / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 1'000'000);
  EXPECT_GE(info.st_blocks * 512, 1'000'000);
  ASSERT_TRUE(run_on_context(context, files->reserve(folder / "file", 500'000)).ok());
  ASSERT_EQ(::stat((folder / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 500'000);
}

TEST_F(FilesTest, RemovesAFileOnceAndRefusesADirectory) {
  std::ofstream(folder / "file") << "x";
  EXPECT_TRUE(run_on_context(context, files->remove(folder / "file")).ok());
  EXPECT_EQ(run_on_context(context, files->remove(folder / "file")).code(), Code::kNotFound);
  ASSERT_TRUE(files->make_directory(folder / "d").ok());
  EXPECT_EQ(run_on_context(context, files->remove(folder / "d")).code(), Code::kInvalid);
}

TEST_F(FilesTest, SyncsADirectoryAndReportsItsFailure) {
  EXPECT_TRUE(run_on_context(context, files->sync_directory(folder.path())).ok());
  system_calls().fail_fsync_at = 1;
  EXPECT_EQ(run_on_context(context, files->sync_directory(folder.path())).code(), Code::kIo);
  EXPECT_EQ(run_on_context(context, files->sync_directory(folder / "none")).code(),
            Code::kNotFound);
}

TEST_F(FilesTest, ResumesOnTheCallersThread) {
  auto body = [&]() -> Task<bool> {
    const auto before = std::this_thread::get_id();
    const Status status = co_await files->replace(folder / "file", "x");
    co_return status.ok() && std::this_thread::get_id() == before;
  };
  EXPECT_TRUE(run_on_context(context, body()));
}

TEST_F(FilesTest, StopsWhileCallsAreStillQueued) {
  auto body = [&](int number) -> Task<Status> {
    co_return co_await files->replace(folder / std::to_string(number), "x");
  };
  for (int i = 0; i < 20; ++i) {
    boost::asio::co_spawn(context, body(i),
                          [](std::exception_ptr, Status status) { status.ignore(); });
  }
  context.poll();
  files.reset();  // then the context goes, with coroutines that never resumed
}

}  // namespace
}  // namespace cairn::platform

// Status, Result and the TRY macros.
#include "engine/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <coroutine>
#include <exception>
#include <optional>

namespace cairn {
namespace {

Status broken() { return {Code::kCorrupt, Reason::kHashMismatch, "block 3"}; }
Result<int> number(bool good) {
  if (good) return 7;
  return fail(Code::kNotFound, "no number");
}
Result<std::string> text_of(bool good) {
  TRY(const int value, number(good));
  return std::to_string(value);
}
Status use(bool good) {
  TRY_VOID(number(good));
  TRY(const std::string text, text_of(good));
  EXPECT_EQ(text, "7");
  return {};
}

TEST(Status, IsOneWordAndOkByDefault) {
#ifndef CAIRN_MUST_CHECK
  EXPECT_EQ(sizeof(Status), sizeof(void*));
#endif
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().to_string(), "ok");
}

TEST(Status, SaysCodeReasonAndMessage) {
  const Status status = broken().with_context("fragment x");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.reason(), Reason::kHashMismatch);
  EXPECT_EQ(status.to_string(), "corrupt (hash_mismatch): fragment x: block 3");
  const Status copy = status;
  EXPECT_EQ(copy.to_string(), status.to_string());
}

TEST(Status, TravelsThroughTryInFunctionsOfBothKinds) {
  EXPECT_TRUE(use(true).ok());
  EXPECT_EQ(use(false).code(), Code::kNotFound);
  const auto text = text_of(false);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().message(), "no number");
}

/// The least coroutine that can co_await another one and return a value: runs at once, never waits.
template <class T>
struct Now {
  struct promise_type {
    Now get_return_object() {
      return Now{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(T given) { value.emplace(std::move(given)); }
    void unhandled_exception() { std::terminate(); }
    std::optional<T> value;
  };
  explicit Now(std::coroutine_handle<promise_type> h) : handle(h) {}
  Now(const Now&) = delete;
  Now& operator=(const Now&) = delete;
  ~Now() { handle.destroy(); }
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  T await_resume() { return std::move(*handle.promise().value); }
  std::coroutine_handle<promise_type> handle;
};

Now<Result<int>> co_number(bool good) { co_return number(good); }
Now<Status> co_check(bool good) { co_return good ? Status() : broken(); }
Now<Result<std::string>> co_text(bool number_good, bool check_good) {
  CO_TRY(const int value, co_await co_number(number_good));
  CO_TRY_VOID(co_await co_check(check_good));
  co_return std::to_string(value);
}
Now<Status> co_use(bool number_good, bool check_good) {
  CO_TRY(const std::string text, co_await co_text(number_good, check_good));
  EXPECT_EQ(text, "7");
  co_return Status();
}

TEST(Status, TravelsThroughTryInCoroutinesOfBothKinds) {
  EXPECT_TRUE(co_use(true, true).await_resume().ok());
  EXPECT_EQ(co_use(false, true).await_resume().code(), Code::kNotFound);
  EXPECT_EQ(co_use(true, false).await_resume().reason(), Reason::kHashMismatch);
}

TEST(Status, OfErrnoIsNeverAbsenceUnlessTheNameIsAbsent) {
  EXPECT_EQ(status_from_errno(ENOENT, "x").code(), Code::kNotFound);
  for (const int error : {EIO, EMFILE, ENFILE, EAGAIN, ENOMEM, EACCES, ETIMEDOUT, ENOSPC}) {
    EXPECT_NE(status_from_errno(error, "x").code(), Code::kNotFound) << error;
  }
  EXPECT_EQ(status_from_errno(EMFILE, "x").reason(), Reason::kNoDescriptors);
}

TEST(Status, OfTwoThingsIsTheFirstOnesErrorOrElseTheSecondOnes) {
  EXPECT_TRUE(first_error({}, {}).ok());
  EXPECT_EQ(first_error({Code::kIo, "a"}, {Code::kNoSpace, "b"}).message(), "a");
  EXPECT_EQ(first_error({Code::kIo, "a"}, {}).message(), "a");
  EXPECT_EQ(first_error({}, {Code::kNoSpace, "b"}).message(), "b");
}

#ifdef CAIRN_MUST_CHECK
TEST(StatusDeathTest, AbortsWhenAnErrorDiesUnread) {
  EXPECT_DEATH({ const Status lost = broken(); }, "died unread");
  EXPECT_DEATH({ const Result<int> lost = fail(broken()); }, "died unread");
  EXPECT_DEATH(
      {
        Status read = broken();
        EXPECT_FALSE(read.ok());
        const Status moved = std::move(read);
      },
      "died unread");
  EXPECT_DEATH(
      {
        Status overwritten = broken();
        overwritten = Status();
      },
      "died unread");
}
TEST(Status, MayDieUnreadWhenItIsOkOrIgnored) {
  const Status fine;
  const Status error = broken();
  error.ignore();
}
#endif

}  // namespace
}  // namespace cairn

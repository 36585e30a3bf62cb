// Status, Result and the TRY macros.
#include "engine/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>

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

TEST(Status, OfErrnoIsNeverAbsenceUnlessTheNameIsAbsent) {
  EXPECT_EQ(status_from_errno(ENOENT, "x").code(), Code::kNotFound);
  for (const int error : {EIO, EMFILE, ENFILE, EAGAIN, ENOMEM, EACCES, ETIMEDOUT, ENOSPC}) {
    EXPECT_NE(status_from_errno(error, "x").code(), Code::kNotFound) << error;
  }
  EXPECT_EQ(status_from_errno(EMFILE, "x").reason(), Reason::kNoDescriptors);
}

#ifdef CAIRN_MUST_CHECK
TEST(StatusDeathTest, AbortsWhenAnErrorDiesUnread) {
  EXPECT_DEATH({ const Status lost = broken(); }, "died unread");
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

// Status and Result: how operating errors travel.  A Code says what the caller does about it, a
// Reason says which rule refused (its number is on the wire and never changes), the message says
// what was wrong, where, and what to do.  Bugs abort (check.h) and exceptions stop at the edges.
//
// OK is a null pointer, so a Status costs one word.  With CAIRN_MUST_CHECK a Status that dies
// without having been read aborts the process: an error that nobody looked at is a bug.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "engine/base/check.h"

namespace cairn {

/// What the caller does about it.
enum class Code : std::uint8_t {
  kOk = 0,
  kNotFound = 1,      ///< a definite answer: it is not there
  kExists = 2,        ///< another one holds that name
  kInvalid = 3,       ///< the request can never succeed as it is
  kCorrupt = 4,       ///< bytes disagree with their hash or format
  kIo = 5,            ///< the device or file system failed
  kNoSpace = 6,       ///< nothing was written
  kTimeout = 7,       ///< the deadline passed; the outcome may be unknown
  kUnavailable = 8,   ///< try again
  kExpelled = 9,      ///< refresh the cluster map
  kExpired = 10,      ///< the session or grant is over
  kCancelled = 11,    ///< the caller gave up
  kUnsupported = 12,  ///< this build or format version can't do it
};

/// Which rule refused.  Numbers are wire format: append only.
enum class Reason : std::uint16_t {
  kNone = 0,
  kNotEmpty = 1,
  kIsDirectory = 2,
  kNotDirectory = 3,
  kQuota = 4,
  kReadOnly = 5,
  kSuperseded = 6,
  kTargetFailed = 7,    ///< the first write or flush error failed the target for good
  kStaleEpoch = 8,      ///< the sender's cluster map is older than the newest seen here
  kBusy = 9,            ///< the same thing is being done by someone else now
  kLocked = 10,         ///< another process holds the lock
  kForeign = 11,        ///< belongs to another cluster, or holds foreign files
  kVersion = 12,        ///< format version unknown to this build
  kRolledBack = 13,     ///< older than the mark kept outside it
  kHashMismatch = 14,   ///< bytes differ from the writing client's table
  kTooLarge = 15,       ///< above a named limit
  kNoDescriptors = 16,  ///< out of file descriptors: try again, never "absent"
  kDenied = 17,         ///< could not prove that it may
  kOtherTree = 18,      ///< would carry a name across volumes or checkpoints
  kNameTooLong = 19,    ///< of a file, an attribute or a link's target
  kLoop = 20,           ///< a directory would hold itself
  kProvisional = 21,    ///< commit the file first: its name lasts only as long as its session
  kNoAttribute = 22,    ///< the file is there, its extended attribute is not
  kTooManyLinks = 23,   ///< or opens
  kDeadlock = 24,       ///< the locks of several sessions would wait for each other
  kAborted = 25,        ///< the checkpoint attempt failed or was given up
  kRepeated = 26,       ///< a sequence number whose answer is gone
  kNotPermitted = 27,   ///< only the owner may
};
inline constexpr Code kCodeLast = Code::kUnsupported;
inline constexpr Reason kReasonLast = Reason::kNotPermitted;

std::string_view to_string(Code code) noexcept;
std::string_view to_string(Reason reason) noexcept;

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message) : Status(code, Reason::kNone, std::move(message)) {}
  Status(Code code, Reason reason, std::string message);

  Status(Status&& other) noexcept : error_(std::move(other.error_)) {
    other.mark_read();
    start_unread();
  }
  Status& operator=(Status&& other) noexcept;
  Status(const Status& other);
  Status& operator=(const Status& other);
  ~Status() { assert_read(); }

  bool ok() const noexcept {
    mark_read();
    return error_ == nullptr;
  }
  Code code() const noexcept;
  Reason reason() const noexcept;
  /// Empty when OK.
  std::string_view message() const noexcept;
  /// "corrupt (hash_mismatch): block 3 of fragment ..." for logs and terminals.
  std::string to_string() const;

  /// The same error with `where: ` before its message; OK stays OK.
  Status with_context(std::string_view where) &&;

  /// Says in the source that an error here changes nothing; the reason belongs in a comment.
  void ignore() const noexcept { mark_read(); }

 private:
  struct Error {
    Code code;
    Reason reason;
    std::string message;
  };

#ifdef CAIRN_MUST_CHECK
  void mark_read() const noexcept { read_ = true; }
  void start_unread() noexcept { read_ = error_ == nullptr; }  // an OK status may die unread
  void assert_read() const noexcept;
  mutable bool read_ = true;
#else
  void mark_read() const noexcept {}
  void start_unread() noexcept {}
  void assert_read() const noexcept {}
#endif

  std::unique_ptr<Error> error_;
};

template <class T>
using Result = tl::expected<T, Status>;

/// `return fail(Code::kInvalid, "unit_bytes is 3; it must be ...");` in a function returning
/// Result.
inline tl::unexpected<Status> fail(Code code, std::string message) {
  return tl::unexpected<Status>(Status(code, std::move(message)));
}
inline tl::unexpected<Status> fail(Code code, Reason reason, std::string message) {
  return tl::unexpected<Status>(Status(code, reason, std::move(message)));
}
inline tl::unexpected<Status> fail(Status status) {
  CAIRN_CHECK(!status.ok());
  return tl::unexpected<Status>(std::move(status));
}

/// Of two things that were both done, what to tell: the first one's error, or else the second's.
Status first_error(Status first, Status second);

/// Status of `errno_value` for an operation on `what`; ENOSPC, EMFILE, ENOENT get their own codes.
Status status_from_errno(int errno_value, std::string_view what);

namespace internal {
template <class T>
Status take_error(Result<T>& result) {
  return std::move(result).error();
}
inline Status take_error(Status& status) { return std::move(status); }
inline bool succeeded(const Status& status) { return status.ok(); }
template <class T>
bool succeeded(const Result<T>& result) {
  return result.has_value();
}
/// Converts to Status or to any Result, so one macro serves functions of both kinds.
struct Propagate {
  Status status;
  operator Status() && { return std::move(status); }  // NOLINT(google-explicit-constructor)
  template <class T>
  operator Result<T>() && {  // NOLINT(google-explicit-constructor)
    return tl::unexpected<Status>(std::move(status));
  }
};
}  // namespace internal

}  // namespace cairn

#define CAIRN_CONCAT_INNER(a, b) a##b
#define CAIRN_CONCAT(a, b) CAIRN_CONCAT_INNER(a, b)

// Declaration forms only: GCC 12 mishandles statement expressions around co_await.
//   TRY(auto x, f());          x is the value, or the function returns the error
//   TRY_VOID(g());             g returns Status or Result<void>
//   CO_TRY / CO_TRY_VOID       the same inside a coroutine; the expression may contain co_await
#define CAIRN_TRY_IMPL(tmp, declaration, expression, return_word)                 \
  auto tmp = (expression);                                                        \
  if (!::cairn::internal::succeeded(tmp)) [[unlikely]]                            \
    return_word ::cairn::internal::Propagate{::cairn::internal::take_error(tmp)}; \
  declaration = *std::move(tmp)
#define CAIRN_TRY_VOID_IMPL(tmp, expression, return_word)                       \
  if (auto tmp = (expression); !::cairn::internal::succeeded(tmp)) [[unlikely]] \
    return_word ::cairn::internal::Propagate { ::cairn::internal::take_error(tmp) }

#define TRY(declaration, expression) \
  CAIRN_TRY_IMPL(CAIRN_CONCAT(try_result_, __LINE__), declaration, expression, return)
#define CO_TRY(declaration, expression) \
  CAIRN_TRY_IMPL(CAIRN_CONCAT(try_result_, __LINE__), declaration, expression, co_return)
#define TRY_VOID(expression) \
  CAIRN_TRY_VOID_IMPL(CAIRN_CONCAT(try_result_, __LINE__), expression, return)
#define CO_TRY_VOID(expression) \
  CAIRN_TRY_VOID_IMPL(CAIRN_CONCAT(try_result_, __LINE__), expression, co_return)

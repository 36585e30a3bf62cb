#include "engine/base/status.h"

#include <cerrno>
#include <cstring>

namespace cairn {

std::string_view to_string(Code code) noexcept {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kNotFound:
      return "not found";
    case Code::kExists:
      return "exists";
    case Code::kInvalid:
      return "invalid";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kIo:
      return "I/O error";
    case Code::kNoSpace:
      return "no space";
    case Code::kTimeout:
      return "timeout";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kExpelled:
      return "expelled";
    case Code::kExpired:
      return "expired";
    case Code::kCancelled:
      return "cancelled";
    case Code::kUnsupported:
      return "unsupported";
  }
  return "unknown";
}

std::string_view to_string(Reason reason) noexcept {
  switch (reason) {
    case Reason::kNone:
      return "";
    case Reason::kNotEmpty:
      return "not_empty";
    case Reason::kIsDirectory:
      return "is_directory";
    case Reason::kNotDirectory:
      return "not_directory";
    case Reason::kQuota:
      return "quota";
    case Reason::kReadOnly:
      return "read_only";
    case Reason::kSuperseded:
      return "superseded";
    case Reason::kTargetFailed:
      return "target_failed";
    case Reason::kStaleEpoch:
      return "stale_epoch";
    case Reason::kBusy:
      return "busy";
    case Reason::kLocked:
      return "locked";
    case Reason::kForeign:
      return "foreign";
    case Reason::kVersion:
      return "version";
    case Reason::kRolledBack:
      return "rolled_back";
    case Reason::kHashMismatch:
      return "hash_mismatch";
    case Reason::kTooLarge:
      return "too_large";
    case Reason::kNoDescriptors:
      return "no_descriptors";
    case Reason::kDenied:
      return "denied";
    case Reason::kOtherTree:
      return "other_tree";
    case Reason::kNameTooLong:
      return "name_too_long";
    case Reason::kLoop:
      return "loop";
    case Reason::kProvisional:
      return "provisional";
    case Reason::kNoAttribute:
      return "no_attribute";
    case Reason::kTooManyLinks:
      return "too_many_links";
    case Reason::kDeadlock:
      return "deadlock";
    case Reason::kAborted:
      return "aborted";
    case Reason::kRepeated:
      return "repeated";
    case Reason::kNotPermitted:
      return "not_permitted";
  }
  return "unknown";
}

Status::Status(Code code, Reason reason, std::string message) {
  CAIRN_CHECK(code != Code::kOk);
  error_ = std::make_unique<Error>(Error{code, reason, std::move(message)});
  start_unread();
}

Status& Status::operator=(Status&& other) noexcept {
  if (this == &other) return *this;
  assert_read();
  error_ = std::move(other.error_);
  other.mark_read();
  start_unread();
  return *this;
}

Status::Status(const Status& other)
    : error_(other.error_ ? std::make_unique<Error>(*other.error_) : nullptr) {
  other.mark_read();
  start_unread();
}

Status& Status::operator=(const Status& other) {
  Status copy(other);
  return *this = std::move(copy);
}

#ifdef CAIRN_MUST_CHECK
void Status::assert_read() const noexcept {
  if (read_ || error_ == nullptr) return;
  check_failed(error_->message.c_str(), "a Status died unread", 0);
}
#endif

Code Status::code() const noexcept {
  mark_read();
  return error_ ? error_->code : Code::kOk;
}

Reason Status::reason() const noexcept {
  mark_read();
  return error_ ? error_->reason : Reason::kNone;
}

std::string_view Status::message() const noexcept {
  mark_read();
  return error_ ? std::string_view(error_->message) : std::string_view();
}

std::string Status::to_string() const {
  mark_read();
  if (error_ == nullptr) return "ok";
  std::string text(cairn::to_string(error_->code));
  if (error_->reason != Reason::kNone) {
    text.append(" (").append(cairn::to_string(error_->reason)).append(")");
  }
  return text.append(": ").append(error_->message);
}

Status Status::with_context(std::string_view where) && {
  if (error_ != nullptr) error_->message.insert(0, std::string(where) + ": ");
  return std::move(*this);
}

Status first_error(Status first, Status second) {
  if (first.ok()) return second;
  second.ignore();
  return first;
}

Status status_from_errno(int errno_value, std::string_view what) {
  std::string message(what);
  message.append(": ").append(std::strerror(errno_value));
  switch (errno_value) {
    case ENOENT:
      return {Code::kNotFound, std::move(message)};
    case EEXIST:
      return {Code::kExists, std::move(message)};
    case ENOSPC:
    case EDQUOT:
      return {Code::kNoSpace, std::move(message)};
    case EMFILE:
    case ENFILE:
      return {Code::kUnavailable, Reason::kNoDescriptors,
              std::move(message) + "; raise the limit of open files (ulimit -n)"};
    case EACCES:
    case EPERM:
    case EINVAL:
    case ENOTDIR:
    case ENAMETOOLONG:
      return {Code::kInvalid, std::move(message)};
    case EROFS:
      return {Code::kInvalid, Reason::kReadOnly, std::move(message)};
    case EAGAIN:
    case ENOMEM:
      return {Code::kUnavailable, std::move(message)};
    case ECANCELED:
      return {Code::kCancelled, std::move(message)};
    default:
      return {Code::kIo, std::move(message)};
  }
}

}  // namespace cairn

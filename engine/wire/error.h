// A Status as the body of an error frame.  Codes and reasons have stable numbers (status.h).
#pragma once

#include <string>

#include "engine/base/bytes.h"
#include "engine/base/status.h"

namespace cairn::wire {

/// A longer message is cut: it is for people, and a peer may be told by an unknown one.
inline constexpr std::size_t kErrorMessageBytesMax = 1024;

/// `error` is not OK.
std::string encode_error(const Status& error);
/// Never OK.  kCorrupt when the body is no error; a code that this build does not know becomes
/// kUnsupported and keeps its number in the message.
Status decode_error(Bytes body);

}  // namespace cairn::wire

// Logging: lines for operators.  A small face over spdlog so that its header is parsed once.
// Levels: debug (developers), info (state changes an operator expects), warn (something was wrong
// and handled), error (a target failed, data is at risk).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };

/// Lowest level that is written; kInfo unless set.
void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;
/// `area` is the component ("store", "io"); the text is one sentence.  Any thread.
void log(LogLevel level, std::string_view area, std::string_view text);

inline void log_debug(std::string_view area, std::string_view text) {
  if (log_level() <= LogLevel::kDebug) log(LogLevel::kDebug, area, text);
}
inline void log_info(std::string_view area, std::string_view text) {
  log(LogLevel::kInfo, area, text);
}
inline void log_warn(std::string_view area, std::string_view text) {
  log(LogLevel::kWarn, area, text);
}
inline void log_error(std::string_view area, std::string_view text) {
  log(LogLevel::kError, area, text);
}

}  // namespace cairn

#include "engine/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

namespace cairn {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("cairn", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_level(spdlog::level::trace);  // g_level decides
    made.set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    return made;
  }();
  return instance;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) noexcept { g_level.store(level, std::memory_order_relaxed); }
LogLevel log_level() noexcept { return g_level.load(std::memory_order_relaxed); }

void log(LogLevel level, std::string_view area, std::string_view text) {
  if (level < log_level() || level == LogLevel::kOff) return;
  logger().log(to_spdlog(level), "{}: {}", area, text);
}

}  // namespace cairn

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <unordered_map>
#include <utility>

#include "engine/platform/platform.h"

namespace cairn::platform {
namespace {

namespace asio = boost::asio;

class SystemClock final : public env::Clock {
 public:
  explicit SystemClock(asio::io_context& context)
      : context_(context), timers_(std::make_shared<Timers>()) {}

  env::MonotonicTime now() const override { return std::chrono::steady_clock::now(); }
  env::WallTime wall_now() const override {
    return std::chrono::time_point_cast<env::Duration>(std::chrono::system_clock::now());
  }

  TimerId call_at(env::MonotonicTime when, std::function<void()> callback) override {
    const TimerId id = next_id_++;
    const auto added =
        timers_->try_emplace(id, Timer{asio::steady_timer(context_, when), {}}).first;
    added->second.callback = std::move(callback);
    // The map may be gone when this runs: the context outlives the clock and may hold the handler.
    auto expired = [id, weak = std::weak_ptr(timers_)](const boost::system::error_code&) {
      const auto timers = weak.lock();
      if (!timers) return;
      auto timer = timers->extract(id);
      if (!timer) return;  // cancelled, maybe after it had expired
      timer.mapped().callback();
    };
    added->second.timer.async_wait(std::move(expired));
    return id;
  }

  void cancel(TimerId timer) override { timers_->erase(timer); }

 private:
  struct Timer {
    asio::steady_timer timer;
    std::function<void()> callback;
  };
  using Timers = std::unordered_map<TimerId, Timer>;

  asio::io_context& context_;
  TimerId next_id_ = 1;
  /// Shared only with handlers in the context's queue, which hold it weakly.
  std::shared_ptr<Timers> timers_;
};

}  // namespace

std::unique_ptr<env::Clock> make_clock(asio::io_context& context) {
  return std::make_unique<SystemClock>(context);
}

}  // namespace cairn::platform

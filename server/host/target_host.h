// The real environment of one target: an event loop with the io_uring device, the system's clock,
// randomness and files, and RocksDB.  What a store runs on in cairn, cairn-bench, the tests on real
// devices and cairnd; it knows no store itself.
//
// Thread: one makes it, calls run() and destroys it; that thread is the target's.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "engine/env/env.h"
#include "engine/io/uring_device.h"
#include "engine/platform/event_loop.h"

namespace cairn::server {

class TargetHost {
 public:
  /// kUnavailable (no_descriptors): the ring can't be made; the message says which limit to raise.
  static Result<std::unique_ptr<TargetHost>> make(io::UringOptions options = {});
  /// Stores made with env() are closed and gone.
  ~TargetHost();
  TargetHost(const TargetHost&) = delete;
  TargetHost& operator=(const TargetHost&) = delete;

  /// Refers into this host.
  env::Env env();
  io::UringStats device_stats() const { return io::uring_stats(*device_); }

  /// Runs `task` on the calling thread until it ends; background work of the store goes on only
  /// during such calls.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    loop_->run(keep(std::move(task), result));
    return *std::move(result);
  }

 private:
  TargetHost();

  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await std::move(task));
  }

  // Destroyed from the last to the first: everything above is used by what is below it.
  std::unique_ptr<platform::EventLoop> loop_;
  std::unique_ptr<env::Clock> clock_;
  std::unique_ptr<env::Random> random_;
  std::unique_ptr<env::Files> files_;
  std::unique_ptr<env::KeyValueStores> key_values_;
  std::unique_ptr<env::BlockDevice> device_;
};

}  // namespace cairn::server

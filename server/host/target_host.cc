#include "server/host/target_host.h"

#include "engine/platform/kv/rocksdb_stores.h"
#include "engine/platform/platform.h"

namespace cairn::server {

TargetHost::TargetHost()
    : loop_(std::make_unique<platform::EventLoop>()),
      clock_(platform::make_clock(loop_->context())),
      random_(platform::make_random()),
      files_(platform::make_files(loop_->context())),
      // docs/adr/005: the index has writes that nobody synced.
      key_values_(platform::make_rocksdb_stores(platform::LogDamage::kKeepPrefix)) {}

Result<std::unique_ptr<TargetHost>> TargetHost::make(io::UringOptions options) {
  std::unique_ptr<TargetHost> host(new TargetHost());
  TRY(host->device_, io::make_uring_device(host->loop_->context(), options));
  return host;
}

TargetHost::~TargetHost() {
  device_.reset();
  loop_->poll();  // what the device cancelled ends here, while the rest is still there
}

env::Env TargetHost::env() {
  return {loop_->executor(), *clock_, *random_, *files_, *device_, *key_values_};
}

}  // namespace cairn::server

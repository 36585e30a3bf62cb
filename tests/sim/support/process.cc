#include "tests/sim/support/process.h"

namespace cairn::sim {
namespace {

class SeededRandom final : public env::Random {
 public:
  explicit SeededRandom(SplitMix64 random) : random_(random) {}
  void fill(MutableBytes out) override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(random_.next());
  }

 private:
  SplitMix64 random_;
};

}  // namespace

SimProcess::SimProcess(SimDisk& disk)
    : disk_(disk),
      life_(disk.new_life()),
      device_(make_sim_device(disk, life_)),
      files_(make_sim_files(disk, life_)),
      stores_(make_sim_stores(disk, life_)),
      random_(std::make_unique<SeededRandom>(disk.scheduler().split_random())) {}

SimProcess::~SimProcess() {
  if (life_->alive) disk_.end_process(*life_);
}

env::Env SimProcess::env() {
  return {disk_.scheduler().executor(), disk_.scheduler(), *random_, *files_, *device_, *stores_};
}

void SimProcess::crash() {
  CAIRN_CHECK(life_->alive);
  disk_.crash();
}

void SimProcess::kill() {
  CAIRN_CHECK(life_->alive);
  ++disk_.stats().kills;
  disk_.end_process(*life_);
}

}  // namespace cairn::sim

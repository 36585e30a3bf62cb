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
      life_(std::make_shared<Life>(Life{disk.new_inode_id(), false})),
      device_(make_sim_device(disk, life_)),
      files_(make_sim_files(disk, life_)),
      stores_(make_sim_stores(disk, life_)),
      random_(std::make_unique<SeededRandom>(disk.scheduler().split_random())) {}

SimProcess::~SimProcess() = default;

env::Env SimProcess::env() {
  return {disk_.scheduler().executor(), disk_.scheduler(), *random_, *files_, *device_, *stores_};
}

void SimProcess::stop(bool power_lost) {
  CAIRN_CHECK(!life_->dead);
  disk_.stop_process(power_lost);
  life_->dead = true;
  for (const auto& [path, inode] : disk_.names().all()) {
    if (inode->locked_by == life_->id) inode->locked_by = 0;
    inode->opens = std::make_shared<int>(0);  // handles of the dead count no more
  }
}

}  // namespace cairn::sim

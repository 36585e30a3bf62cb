// One life of one process on a simulated disk: its environment, and its end.
//
// After crash() or kill() the environment is dead: device operations end with -EIO, files and
// stores with kIo, and nothing reaches the disk any more.  So the old coroutines run to their ends
// by themselves (SimScheduler::run_until) while the next life opens the same disk.  The object
// itself stays until they have.
#pragma once

#include <memory>

#include "engine/env/env.h"
#include "tests/sim/support/disk.h"

namespace cairn::sim {

class SimProcess {
 public:
  explicit SimProcess(SimDisk& disk);
  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  env::Env env();
  bool alive() const { return life_->alive; }
  /// The power goes, for every process on this disk: any subset of what was not flushed survives.
  void crash();
  /// This process dies and the machine goes on: what had completed survives.
  void kill();

 private:
  SimDisk& disk_;
  std::shared_ptr<Life> life_;
  std::unique_ptr<env::BlockDevice> device_;
  std::unique_ptr<env::Files> files_;
  std::unique_ptr<env::KeyValueStores> stores_;
  std::unique_ptr<env::Random> random_;
};

// The views, one file each.
std::unique_ptr<env::BlockDevice> make_sim_device(SimDisk& disk, std::shared_ptr<Life> life);
std::unique_ptr<env::Files> make_sim_files(SimDisk& disk, std::shared_ptr<Life> life);
std::unique_ptr<env::KeyValueStores> make_sim_stores(SimDisk& disk, std::shared_ptr<Life> life);

}  // namespace cairn::sim

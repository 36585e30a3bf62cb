// One life of one process on a simulated disk: its environment, and its end.
//
// After crash() or kill() the environment is dead: device operations end with -EIO, files and stores
// with kIo, and nothing reaches the disk any more, so the old coroutines run to their ends by
// themselves (SimScheduler::run_until_idle) while the next life opens the same disk.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/env/env.h"
#include "tests/sim/support/disk.h"

namespace cairn::sim {

/// Shared by the views of one life and their coroutines.
struct Life {
  std::uint64_t id = 0;
  bool dead = false;
};

class SimProcess {
 public:
  explicit SimProcess(SimDisk& disk);
  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  env::Env env();
  /// The power goes: any subset of what was not flushed survives.
  void crash() { stop(true); }
  /// The process dies and the machine goes on: what had completed survives.
  void kill() { stop(false); }

 private:
  void stop(bool power_lost);

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

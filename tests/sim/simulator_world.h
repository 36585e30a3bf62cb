// A simulated machine for the simulator's own tests: one disk with a directory "/d", one process
// after another, and short ways to do one operation and wait for it.  Each write fills its sectors
// with a number of its own, so that what a crash left can be told sector by sector.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/support/process.h"

namespace cairn::sim {

/// Page-aligned memory, as direct I/O wants it.
class Pages {
 public:
  explicit Pages(std::uint64_t pages)
      : bytes_(pages * kPageBytes),
        memory_(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes_)), &std::free) {}
  MutableBytes get() const { return {memory_.get(), bytes_}; }

 private:
  std::uint64_t bytes_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

inline Pages filled(std::uint64_t pages, std::uint64_t tag) {
  Pages out(pages);
  const MutableBytes bytes = out.get();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof tag) store_le(bytes.data() + at, tag);
  return out;
}

class SimWorld {
 public:
  explicit SimWorld(std::uint64_t seed, SimDiskOptions options = {})
      : scheduler(seed), disk(scheduler, options), random(seed * 77 + 1) {
    disk.add_directory("/d");
    start();
  }

  /// The next process; the old one's coroutines must have ended.
  void start() { process = std::make_unique<SimProcess>(disk); }
  void crash_and_start() { stop_and_start(true); }
  void kill_and_start() { stop_and_start(false); }

  env::BlockDevice& device() { return process->env().device; }
  env::Files& files() { return process->env().files; }
  env::KeyValueStores& stores() { return process->env().key_values; }

  Result<env::DeviceFile> open(const std::string& path, env::DeviceOpen mode,
                               std::uint64_t pages = 0) {
    return scheduler.run(device().open(path, mode, pages * kPageBytes));
  }
  /// A file of `pages` zeros whose name and space are durable.
  env::DeviceFile durable_file(const std::string& path, std::uint64_t pages) {
    const auto file = open(path, env::DeviceOpen::kCreate, pages);
    CAIRN_CHECK(file.has_value());
    CAIRN_CHECK(flush(*file) == 0);
    CAIRN_CHECK(sync("/d").ok());
    return *file;
  }
  int write(env::DeviceFile file, std::uint64_t page, std::uint64_t pages, std::uint64_t tag) {
    const Pages data = filled(pages, tag);
    return scheduler.run(device().write_at(file, page * kPageBytes, data.get()));
  }
  int read(env::DeviceFile file, std::uint64_t page, const Pages& into) {
    return scheduler.run(device().read_at(file, page * kPageBytes, into.get()));
  }
  int flush(env::DeviceFile file) { return scheduler.run(device().flush(file)); }
  Status sync(const std::string& directory) {
    return scheduler.run(files().sync_directory(directory));
  }

  /// The tag in each sector of a file as it is now; nullopt for a sector that mixes two.
  std::vector<std::optional<std::uint64_t>> sector_tags(const std::string& path) const {
    const std::string bytes = disk.content(path);
    std::vector<std::optional<std::uint64_t>> tags;
    for (std::size_t at = 0; at < bytes.size(); at += kSectorBytes) {
      std::set<std::uint64_t> seen;
      for (std::size_t i = 0; i < kSectorBytes; i += 8) {
        seen.insert(load_le<std::uint64_t>(bytes.data() + at + i));
      }
      tags.push_back(seen.size() == 1 ? std::optional(*seen.begin()) : std::nullopt);
    }
    return tags;
  }

  SimScheduler scheduler;
  SimDisk disk;
  SplitMix64 random;
  std::unique_ptr<SimProcess> process;

 private:
  void stop_and_start(bool power_lost) {
    power_lost ? process->crash() : process->kill();
    scheduler.run_until_idle();
    start();
  }
};

}  // namespace cairn::sim

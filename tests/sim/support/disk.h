// A simulated disk: a file system with its files and key-value stores, and what a power cut does to
// it.  It outlives the processes that use it; each of them sees it through SimProcess (process.h).
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "tests/sim/support/faults.h"
#include "tests/sim/support/names.h"
#include "tests/sim/support/scheduler.h"
#include "tests/sim/support/store.h"

namespace cairn::sim {

class SimDisk {
 public:
  SimDisk(SimScheduler& scheduler, SimDiskOptions options)
      : scheduler_(scheduler),
        options_(options),
        faults_(options_, stats_, scheduler.split_random()),
        random_(scheduler.split_random()) {}

  SimScheduler& scheduler() { return scheduler_; }
  SimDiskOptions& options() { return options_; }
  SimDiskStats& stats() { return stats_; }
  SimFaults& faults() { return faults_; }
  NameTable& names() { return names_; }
  SplitMix64& random() { return random_; }

  // ---- damage that reads see; the image below stays right
  void flip_bit(const std::string& path, std::uint64_t offset, std::uint8_t bit);
  void zero(const std::string& path, std::uint64_t offset, std::uint64_t length);
  /// Reads of [offset, offset + length) return what lies at `from` of the same file.
  void misplace(const std::string& path, std::uint64_t offset, std::uint64_t length,
                std::uint64_t from);
  void heal(const std::string& path);
  /// Replaces a whole file's bytes, durably, as damage outside of any process does.
  void overwrite(const std::string& path, std::string bytes);
  std::string content(const std::string& path) const;
  std::uint64_t file_bytes(const std::string& path) const;

  std::uint64_t used_bytes() const;
  std::uint64_t free_bytes() const {
    const std::uint64_t used = used_bytes();
    return options_.capacity_bytes > used ? options_.capacity_bytes - used : 0;
  }

  /// A write or punch that the device has and has not completed.
  struct InFlight {
    InodeRef inode;
    FileChange::Kind kind;
    std::uint64_t offset;
    Bytes data;            ///< kWrite
    std::uint64_t length;  ///< kPunch
  };
  using InFlightRef = std::list<InFlight>::iterator;
  InFlightRef begin(InFlight operation) {
    return in_flight_.insert(in_flight_.end(), std::move(operation));
  }
  void end(InFlightRef operation) { in_flight_.erase(operation); }
  /// Visible now, durable after a flush.
  void change(Inode& inode, FileChange change);
  /// Changes up to `up_to` become durable.
  void flush(Inode& inode, std::uint64_t up_to);
  /// A failed flush: what it covered will never become durable, though reads still see it.
  void drop_by_failed_flush(Inode& inode, std::uint64_t up_to);

  /// Power cut (`power_lost`) or end of the process alone.
  void stop_process(bool power_lost);
  std::uint64_t new_inode_id() { return ++last_inode_; }
  void keep(const InodeRef& inode) { inodes_.push_back(inode); }

 private:
  InodeRef must_find(const std::string& path) const;
  FileChange to_change(const InFlight& operation) const;

  SimScheduler& scheduler_;
  SimDiskOptions options_;
  SimDiskStats stats_;
  SimFaults faults_;
  SplitMix64 random_;
  NameTable names_;
  std::list<InFlight> in_flight_;
  std::vector<std::weak_ptr<Inode>> inodes_;
  std::uint64_t last_inode_ = 0;
};

}  // namespace cairn::sim

// One simulated disk with its file system and key-value stores.  It outlives the processes that use
// it: each sees it through a SimProcess (process.h), and a crash decides what of their work it
// kept.
//
//   write completes -> pending -> (a flush issued after that completes) -> durable
//   crash: each pending change is kept, torn or lost; what was in flight may have happened too
//   kill:  what completed stays and is still pending; what was in flight may have happened
//
// Not an interface of the engine.  Who calls it: tests (first part) and the views (second part).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "tests/sim/support/faults.h"
#include "tests/sim/support/names.h"
#include "tests/sim/support/scheduler.h"
#include "tests/sim/support/store.h"

namespace cairn::sim {

/// One process that uses the disk, shared by its views and their coroutines.  When it is over, its
/// operations fail and change nothing.
struct Life {
  std::uint64_t number = 0;
  bool alive = true;
  std::function<void()> on_end;  ///< closes what the process had open
};

/// Outlives the disk where coroutines of a failed test are still to be destroyed.
struct Space {
  std::uint64_t used_pages = 0;
};

class SimDisk {
 public:
  explicit SimDisk(SimScheduler& scheduler, SimDiskOptions options = {});
  ~SimDisk();
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  // ---- for tests -------------------------------------------------------------------------------

  /// A durable directory; its parent must be one.
  void add_directory(const std::string& path);
  SimFaults& faults() { return faults_; }
  /// May be changed at any time.
  SimDiskOptions& options() { return options_; }
  SimDiskStats& stats() { return stats_; }
  std::uint64_t used_bytes() const { return space_->used_pages * kPageBytes; }
  /// 0 also when a crash brought back more than there is room for.
  std::uint64_t free_bytes() const;

  /// Power cut: ends every process on this disk.
  void crash();
  /// The end of one process; the machine goes on.
  void end_process(Life& life);

  // Damage that only reads see: the image below stays right, and heal() ends it.
  void flip_bit(const std::string& path, std::uint64_t offset, std::uint8_t bit);
  void zero(const std::string& path, std::uint64_t offset, std::uint64_t length);
  /// Reads of [offset, offset + length) return what lies at `from` of the same file.
  void misplace(const std::string& path, std::uint64_t offset, std::uint64_t length,
                std::uint64_t from);
  void heal(const std::string& path);

  // Damage to the medium: durable, at once, by nobody's hand.
  void poke(const std::string& path, std::uint64_t offset, std::string_view bytes);
  /// Replaces a whole file's bytes.
  void overwrite(const std::string& path, const std::string& bytes);

  // The truth, without overlays, faults or time.
  bool exists(const std::string& path) const;
  /// Paths of the files below `directory`, in order.
  std::vector<std::string> files_below(const std::string& directory) const;
  std::uint64_t file_bytes(const std::string& path) const;
  std::string content(const std::string& path) const;
  /// Short at the end of the file.
  std::string peek(const std::string& path, std::uint64_t offset, std::uint64_t length) const;
  /// The key-value store at `path`, or nullptr.
  std::shared_ptr<SimStore> store(const std::string& path) const;

  // ---- for the views ---------------------------------------------------------------------------

  SimScheduler& scheduler() { return scheduler_; }
  NameTable& names() { return names_; }
  std::shared_ptr<Life> new_life();
  InodeRef new_inode(const std::string& path);
  void trace(TraceKind kind, SimOperation operation, const Inode* inode, std::uint64_t a = 0,
             std::uint64_t b = 0);

  /// Applies a change that just completed; it is pending until a flush.
  void complete(Inode& inode, FileChange change);
  /// Makes what completed up to `last_change` durable.
  void make_durable(Inode& inode, std::uint64_t last_change);
  /// A flush failed: what it covered is durable or never will be, whatever later flushes say.
  void fail_flush(Inode& inode, std::uint64_t last_change);
  /// Whether the pages of [offset, offset + length) that the file does not own yet fit.
  bool has_room(const Inode& inode, std::uint64_t offset, std::uint64_t length);
  /// What a process gets to see: with overlays and chance flips.
  std::uint64_t read(const Inode& inode, std::uint64_t offset, MutableBytes into);
  /// Both images become exactly `bytes`.
  void set_content(Inode& inode, std::string_view bytes);
  /// Visible now, durable after the directory's sync; the space comes back with the last user.
  void remove_name(const std::string& path);

  /// An operation in flight.  `may_happen` runs if the process ends first and the seed says that
  /// the operation reached the disk all the same.  Lives on the operation's coroutine.
  class Flight {
   public:
    Flight(SimDisk& disk, const Life& life, std::function<void(SplitMix64&)> may_happen);
    ~Flight();
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

   private:
    friend class SimDisk;
    SimDisk* disk_;
    std::uint64_t life_;
    std::uint64_t number_;
    std::function<void(SplitMix64&)> may_happen_;
  };

  /// Keeps a file's space while a handle or an operation uses it.
  class User {
   public:
    User(SimDisk& disk, InodeRef inode)
        : space_(disk.space_), inode_(std::move(inode)), token_(inode_->users) {}
    User(const User&) = default;
    User& operator=(const User&) = delete;
    ~User();
    Inode& operator*() const { return *inode_; }
    Inode* operator->() const { return inode_.get(); }
    const InodeRef& inode() const { return inode_; }

   private:
    std::shared_ptr<Space> space_;
    InodeRef inode_;
    std::shared_ptr<int> token_;
  };

 private:
  void settle_flights(const Life* only);
  void settle_inode(Inode& inode, std::uint64_t keep_percent);
  void end_life(Life& life);
  void recount();
  InodeRef must_find(const std::string& path) const;

  SimScheduler& scheduler_;
  SimDiskOptions options_;
  SimDiskStats stats_;
  SimFaults faults_;
  SplitMix64 random_;
  NameTable names_;
  std::shared_ptr<Space> space_;
  std::uint64_t last_inode_ = 0;
  std::uint64_t last_life_ = 0;
  std::uint64_t last_flight_ = 0;
  std::map<std::uint64_t, Flight*> flights_;  // in order of their start
  std::vector<std::shared_ptr<Life>> lives_;
};

}  // namespace cairn::sim

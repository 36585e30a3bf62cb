// Names of a simulated file system.  A change of a name is visible at once and durable only after
// its directory was synced; a crash keeps, for each directory, the first few of the changes that
// were not, in their order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "tests/sim/support/faults.h"
#include "tests/sim/support/file_image.h"

namespace cairn::sim {

class SimStore;

/// Damage seen by reads only: the image below stays right, so the fault can be taken away again.
struct Overlay {
  enum class Kind : std::uint8_t { kFlip, kZeros, kFrom };
  Kind kind;
  std::uint64_t offset;
  std::uint64_t length;    ///< kFlip: 1
  std::uint64_t from = 0;  ///< kFrom: where the bytes really come from
  std::uint8_t bit = 0;    ///< kFlip
};

/// A file, a directory, or the directory of a key-value store.
struct Inode {
  std::uint64_t id = 0;
  std::string created_as;  ///< for messages and fault plans
  bool is_directory = false;
  std::shared_ptr<SimStore> store;
  FileImage current;                ///< what reads see
  FileImage durable;                ///< what a crash can't take
  std::vector<FileChange> pending;  ///< what lies between, in order of completion
  std::uint64_t last_change = 0;
  std::vector<Overlay> overlays;
  std::uint64_t links = 0;
  /// Each open handle and running operation holds a copy; a crash puts a new one in its place.
  std::shared_ptr<int> users = std::make_shared<int>(0);
  std::uint64_t locked_by = 0;  ///< life of the process that holds the lock, 0 is nobody
};
using InodeRef = std::shared_ptr<Inode>;

/// "/a/b": absolute, no trailing slash.
std::string normal_path(const std::string& path);
std::string parent_path(const std::string& path);

class NameTable {
 public:
  NameTable();

  InodeRef find(const std::string& path) const;
  bool has_directory(const std::string& path) const;
  /// Names directly in `directory`, in order.
  std::vector<std::pair<std::string, InodeRef>> children(const std::string& directory) const;
  const std::map<std::string, InodeRef>& all() const { return current_; }

  /// Visible now, durable after sync() of the parent.  A null inode removes the name.
  void change(const std::string& path, InodeRef inode);
  /// Visible and durable at once.
  void change_durably(const std::string& path, InodeRef inode);
  /// Number of the newest change so far: what a sync that starts now will cover.
  std::uint64_t last_change() const { return last_change_; }
  void sync(const std::string& directory, std::uint64_t up_to);
  /// A crash: decides about every change that is not durable.
  void settle(SplitMix64& random, SimDiskStats& stats);

 private:
  struct Change {
    std::uint64_t number;
    std::string path;
    InodeRef inode;
  };
  void set(std::map<std::string, InodeRef>& names, const std::string& path, InodeRef inode);
  void drop_unreachable();

  std::map<std::string, InodeRef> current_;
  std::map<std::string, InodeRef> durable_;
  std::map<std::string, std::vector<Change>> pending_;  // by directory
  std::uint64_t last_change_ = 0;
};

}  // namespace cairn::sim

// A target on a simulated disk beside a model of what it must answer.
//
// The model keeps, for each fragment ever touched, what a reader may find: an acknowledged put must
// be there with its bytes (I1), an acknowledged delete must stay absent (I6), and what was on its
// way when the lights went out may be either, but never half of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/target_store.h"
#include "tests/sim/support/process.h"

namespace cairn::sim {

/// Page-aligned memory for one read.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::uint64_t bytes) : bytes_(bytes), memory_(bytes + kPageBytes) {}
  MutableBytes get() {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
    return MutableBytes(memory_).subspan(round_up(at, kPageBytes) - at, bytes_);
  }

 private:
  std::uint64_t bytes_;
  std::vector<std::byte> memory_;
};

/// A fragment whose bytes follow from its name, so that nothing has to be remembered to check it.
struct TestFragment {
  FragmentName name;
  layout::Geometry geometry;

  std::string data() const;
  /// The writing client's table; other fragments' rows are made up, only ours is ever looked at.
  std::string table() const;
};

enum class Expect : std::uint8_t {
  kPresent,  ///< the put was acknowledged
  kAbsent,   ///< the delete was acknowledged, or nothing was ever put
  kEither,   ///< on its way when the process ended, or answered with an error
};

class StoreWorld {
 public:
  /// Small segments, so that many of them come and go.
  StoreWorld(std::uint64_t seed, SimDiskOptions disk_options);
  ~StoreWorld();

  store::StoreOptions options() const;
  Status open();
  /// Orderly end; the store must be open.
  Status close();
  /// The process ends in the middle of things; old coroutines run out, then the next life may open.
  void crash() { stop(true); }
  void kill() { stop(false); }

  // ---- operations that keep the model in step; they return when the store answers
  Task<Status> put(TestFragment fragment);
  Task<Status> erase(std::vector<FragmentName> names);
  /// Reads whole fragments or parts; any answer that the model forbids is recorded in `violations`.
  Task<Status> read(TestFragment fragment);

  /// Hands `data` over in pieces of random size.
  Task<Status> feed(store::PutSession& session, std::string data);

  /// Asks about every fragment of the model and lists the target; then the model knows again.
  void check();
  /// Closes the target and compares the blocks it holds with the bytes of its fragments (I8).
  void close_and_check_no_leak();

  TestFragment make_fragment();
  /// One that the model knows, or nullopt.
  std::optional<TestFragment> pick();

  SimScheduler scheduler;
  SimDisk disk;
  std::unique_ptr<SimProcess> process;
  std::unique_ptr<store::TargetStore> target;
  SplitMix64 random;
  std::map<FragmentName, std::pair<TestFragment, Expect>> model;
  std::vector<std::string> violations;
  std::uint64_t acknowledged_puts = 0, acknowledged_deletes = 0, suspects = 0;
  std::uint32_t fragment_pages_max = 80;
  Epoch epoch{1};
  bool acting = false;  ///< clients are at work: not starting, not being checked

 private:
  void stop(bool power_lost);
  void violation(const FragmentName& name, const std::string& what);
  Task<Status> read_whole(TestFragment fragment, std::string* out);

  std::uint64_t lives_ = 0;
  std::uint64_t next_counter_ = 1;
};

}  // namespace cairn::sim

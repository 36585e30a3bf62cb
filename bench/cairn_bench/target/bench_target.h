// A target of its own with everything that runs it, for one scenario.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/cairn_bench/target/fragment_io.h"
#include "bench/cairn_bench/target/measure.h"
#include "engine/io/piece_pool.h"
#include "server/host/target_host.h"

namespace cairn::bench {

/// What all readers of one run may hold together.
inline constexpr std::uint64_t kReadBytesMax = 32 * kMiB;

class BenchTarget {
 public:
  /// Initialises and opens a target in `directory`, which does not exist yet.
  static Result<std::unique_ptr<BenchTarget>> make(const std::string& directory,
                                                   bool index_fragments);
  /// Opens one that exists.
  static Result<std::unique_ptr<BenchTarget>> open(const std::string& directory,
                                                   bool index_fragments = true);
  /// Closes; an error is logged.
  ~BenchTarget();

  store::TargetStore& store() { return *store_; }
  server::TargetHost& host() { return *host_; }

  /// Puts `objects`, all with the bytes at the front of `payload`, by `writers` coroutines.
  Result<Rate> write(const std::vector<Object>& objects, Bytes payload, std::uint32_t writers);
  /// Reads `objects`, all of one length, by `readers` coroutines and verifies every byte: the
  /// target does it (kHere), or the reader with the writer's table (kByCaller).  readers x fragment
  /// bytes is at most kReadBytesMax.
  Result<Rate> read(const std::vector<Object>& objects, std::uint32_t readers,
                    store::Verify verify);
  /// Deletes them and waits until their blocks are given back.
  Status remove(const std::vector<Object>& objects);

 private:
  BenchTarget() = default;
  std::unique_ptr<server::TargetHost> host_;
  /// Where readers read to: huge pages, as a client's pool has them.
  std::unique_ptr<io::PiecePool> read_memory_;
  std::unique_ptr<env::RegisteredMemory> read_registered_;
  std::unique_ptr<store::TargetStore> store_;
};

/// `count` objects with the bytes at the front of `payload`; names begin at `first_counter`.
std::vector<Object> make_objects(std::uint64_t first_counter, std::uint64_t count,
                                 std::uint64_t object_bytes, Bytes payload);

}  // namespace cairn::bench

// One fragment on its way to one target: the payload lands in the target's own pieces and is
// written from there as it comes.  No reader can see it until a metadata commit names it.
//
//   begin_put > (next_buffer > filled)* > finish
//
// What this is not: a connection.  The network layer reads its socket into next_buffer() and says
// filled(); a session that dies before finish() gives its space back in the background.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/bytes.h"
#include "engine/base/ids.h"
#include "engine/base/status.h"
#include "engine/env/task.h"
#include "engine/layout/geometry.h"

namespace cairn::store {

class TargetStore;
struct PutState;

struct PutRequest {
  FragmentName name;
  VolumeId volume;
  layout::Geometry geometry;
  /// The writing client's table of all k+m fragments; borrowed until begin_put returns.
  Bytes table;
  /// Draws on space that reserve() put aside instead of asking for more.
  bool reserved = false;
};

/// Thread: the target's.  The store outlives it.
class PutSession {
 public:
  explicit PutSession(std::unique_ptr<PutState> state);
  PutSession(PutSession&&) noexcept;
  PutSession& operator=(PutSession&&) = delete;
  ~PutSession();

  /// The very same fragment is already durable here: payload is checked and dropped, finish
  /// succeeds.
  bool already_durable() const;
  /// Bytes still to come.
  std::uint64_t remaining() const;

  /// Where the next bytes go: 1 B or more inside one piece, valid until filled() or destruction.
  /// Waits while all pieces of the target are in use (back-pressure).  Not called when remaining()
  /// is 0. kIo (target_failed): this target takes no more writes.
  Task<Result<MutableBytes>> next_buffer();

  /// `bytes` of that buffer have arrived.  Every block is checked as soon as it is complete and the
  /// piece goes to the device as soon as it is full.
  /// kCorrupt (hash_mismatch): the bytes differ from the table; the fragment will not be stored.
  Status filled(std::uint64_t bytes);

  /// Waits for the writes, flushes, then indexes the fragment.  OK: it survives a power cut.
  /// kCorrupt: bytes differ from the table.  kIo: this target has failed, nothing is acknowledged.
  /// kInvalid: bytes are missing.  kCancelled: it was deleted meanwhile.
  Task<Status> finish();

 private:
  std::unique_ptr<PutState> state_;  ///< null once finished; a dropped one is handed to the store
};

}  // namespace cairn::store

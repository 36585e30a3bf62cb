// Aligned, pre-faulted memory cut into pieces: payload lands here and is written from here.
// Huge pages where the system gives them: with 4 KiB pages a save costs about a fifth more CPU and
// half of the wall rate (DESIGN section 12).  The pool is also the back-pressure: a writer waits
// here.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/limits.h"
#include "engine/env/sync.h"

namespace cairn::io {

class PiecePool;

/// Some memory of a pool, given back to its pool when destroyed.  The pool outlives it.
class Piece {
 public:
  Piece() = default;
  Piece(Piece&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), memory_(std::exchange(other.memory_, {})) {}
  Piece& operator=(Piece&& other) noexcept;
  ~Piece() { release(); }

  /// Page-aligned, as long as all pieces of the pool.  Content is whatever was there.
  MutableBytes memory() const { return memory_; }
  explicit operator bool() const { return pool_ != nullptr; }

 private:
  friend class PiecePool;
  Piece(PiecePool* pool, MutableBytes memory) : pool_(pool), memory_(memory) {}
  void release() noexcept;

  PiecePool* pool_ = nullptr;
  MutableBytes memory_;
};

/// Thread: the executor's.
class PiecePool {
 public:
  /// Maps and touches `pieces` x `piece_bytes`, which is a multiple of kPageBytes.  kUnavailable
  /// when the memory can't be had.
  static Result<std::unique_ptr<PiecePool>> make(const Executor& executor, std::uint32_t pieces,
                                                 std::uint64_t piece_bytes = kPieceBytes);
  ~PiecePool();

  /// Waits for a free piece, first come first served.
  Task<Piece> acquire();
  /// All of the memory, for BlockDevice::register_memory.
  MutableBytes memory() const { return memory_; }
  std::uint32_t free_pieces() const { return static_cast<std::uint32_t>(free_.size()); }
  /// Whether the kernel backs the pool with 2 MiB pages.
  bool huge_pages() const { return huge_pages_; }

 private:
  friend class Piece;
  PiecePool(const Executor& executor, MutableBytes memory, std::uint64_t piece_bytes,
            bool huge_pages);
  void give_back(MutableBytes memory) noexcept;

  MutableBytes memory_;
  std::uint64_t piece_bytes_;
  bool huge_pages_;
  std::vector<std::byte*> free_;
  Permits permits_;
};

}  // namespace cairn::io

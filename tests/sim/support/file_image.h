// What one file of a simulated disk holds: pages, the ranges it owns, its length; and the changes
// to it that a power cut may lose.  Pages are shared between the current image, the durable one and
// the changes between them, so a copy costs pointers.
//
// Not a file: no names, no handles, no time (those are in disk.h).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/limits.h"
#include "engine/base/random.h"

namespace cairn::sim {

inline constexpr std::uint64_t kSectorBytes = 512;

struct Page {
  std::array<std::byte, kPageBytes> bytes;
};
using PageRef = std::shared_ptr<const Page>;

/// Page number -> content; an absent page reads as zeros.
class PageMap {
 public:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  const Page* get(std::uint64_t page) const;
  PageRef share(std::uint64_t page) const;
  void set(std::uint64_t page, PageRef content);
  /// Removes the pages in [first, end).
  void erase(std::uint64_t first, std::uint64_t end);
  /// The first present page at or after `from`, or kNone.
  std::uint64_t next(std::uint64_t from) const;

 private:
  static constexpr std::uint64_t kChunkPages = 64;
  using Chunk = std::array<PageRef, kChunkPages>;
  std::map<std::uint64_t, Chunk> chunks_;
};

/// A set of numbers as disjoint ranges.
class RangeSet {
 public:
  /// Adds [first, end); how many were new.
  std::uint64_t insert(std::uint64_t first, std::uint64_t end);
  /// Removes [first, end); how many there were.
  std::uint64_t erase(std::uint64_t first, std::uint64_t end);
  /// How many of [first, end) are in the set.
  std::uint64_t count(std::uint64_t first, std::uint64_t end) const;
  std::uint64_t size() const { return size_; }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // first -> end
  std::uint64_t size_ = 0;
};

struct FileImage {
  PageMap pages;
  RangeSet allocated;  ///< page numbers the file owns, written or not
  std::uint64_t bytes = 0;
};

/// One change of a file, complete but not flushed.
struct FileChange {
  enum class Kind : std::uint8_t { kAllocate, kWrite, kPunch, kTruncate };
  Kind kind = Kind::kWrite;
  std::uint64_t number = 0;  ///< order of completion within the file
  std::uint64_t offset = 0;  ///< bytes; the new length for kTruncate
  std::uint64_t length = 0;
  std::vector<PageRef> pages;  ///< kWrite: one per page
};

/// `offset` and `data` are whole pages.
FileChange make_write(std::uint64_t offset, Bytes data);
void apply(FileImage& image, const FileChange& change);

/// How a power cut treats one change.
enum class Survival : std::uint8_t { kLost, kTorn, kKept };
/// Applies the part of a write or punch that reached the medium: sectors or pages, a prefix, a
/// suffix or any subset of them.  Other changes are atomic and are lost.
void apply_torn(FileImage& image, const FileChange& change, SplitMix64& random);

/// Bytes read: less than `into` only at the end of the file.
std::uint64_t read_image(const FileImage& image, std::uint64_t offset, MutableBytes into);

}  // namespace cairn::sim

// Every bound has a name, a reason and its ties to its neighbours.  Changing one is a format or a
// capacity decision, never a tuning accident.
#pragma once

#include <cstdint>

#include "engine/base/units.h"

namespace cairn {

// ---- objects and fragments (DESIGN sections 1 and 3) --------------------------------------------

/// What O_DIRECT, tail units and headers are aligned to.
inline constexpr std::uint64_t kPageBytes = 4 * kKiB;
/// One hash of the table covers this much of a fragment; partial reads fetch whole blocks.
inline constexpr std::uint64_t kBlockBytes = 64 * kKiB;
/// Largest object: a writer holds it in memory until all its puts are acknowledged.
inline constexpr std::uint64_t kObjectBytesMax = 64 * kMiB;
/// Largest fragment: an object of copies(n) is its own fragment.
inline constexpr std::uint64_t kFragmentBytesMax = kObjectBytesMax;
inline constexpr std::uint64_t kUnitBytesDefault = 256 * kKiB;
/// A unit larger than this would make a stripe of 8+2 exceed the object.
inline constexpr std::uint64_t kUnitBytesMax = 4 * kMiB;
inline constexpr std::uint32_t kDataFragmentsMax = 16;
inline constexpr std::uint32_t kParityFragmentsMax = 4;
inline constexpr std::uint32_t kFragmentsMax = kDataFragmentsMax + kParityFragmentsMax;
inline constexpr std::uint32_t kCopiesMax = 4;
/// The hash table of all k+m fragments; copies(4) of 64 MiB needs exactly this.
inline constexpr std::uint64_t kHashTableBytesMax = 32 * kKiB;
/// Header = fixed part and table, rounded to pages.
inline constexpr std::uint64_t kFragmentHeaderBytesMax = kHashTableBytesMax + kPageBytes;

static_assert(kBlockBytes % kPageBytes == 0);
static_assert(kUnitBytesDefault % kBlockBytes == 0 && kUnitBytesMax % kBlockBytes == 0);
static_assert(kCopiesMax * (kObjectBytesMax / kBlockBytes) * sizeof(std::uint64_t) ==
              kHashTableBytesMax);

// ---- a target (DESIGN section 4) ----------------------------------------------------------------

inline constexpr std::uint64_t kSegmentBytesMax = 1 * kGiB;
/// A device holds at least this many segments, so that reclaiming one frees a small share of it.
inline constexpr std::uint64_t kSegmentsPerDeviceMin = 64;
/// A segment holds at least one largest fragment with its header.
inline constexpr std::uint64_t kSegmentBytesMin = 80 * kMiB;
static_assert(kSegmentBytesMin >= kFragmentBytesMax + kFragmentHeaderBytesMax);
/// Segments that still take or wait for writes; each costs a position in the scan mark.
inline constexpr std::uint32_t kOpenSegmentsMax = 4;
/// Segment files kept open for reads; above it the least recently used is closed.
inline constexpr std::uint32_t kOpenFilesMax = 256;
/// Payload moves in pieces of this size from socket to device; a multiple of the block.
inline constexpr std::uint64_t kPieceBytes = 1 * kMiB;
/// The first piece of a fragment carries its header in front of the data.
static_assert(kFragmentHeaderBytesMax <= kBlockBytes && kPieceBytes % kBlockBytes == 0);
/// Pieces of one target: 16 MiB saturate a device, the rest is being filled or verified.
inline constexpr std::uint32_t kPiecesPerTarget = 32;
/// Operations in flight on one ring; 16 x 1 MiB saturate a device.
inline constexpr std::uint32_t kDeviceDepth = 16;
/// Operations that wait for the ring; above it -EAGAIN.
inline constexpr std::uint32_t kDeviceQueueMax = 4096;
/// Restart scans at most about this much per open segment: the mark follows the writes.
inline constexpr std::uint64_t kMarkEveryBytes = 64 * kMiB;
inline constexpr std::int64_t kMarkEveryMs = 1000;
/// Puts running at once on one target; each holds at least one piece.
inline constexpr std::uint32_t kPutsInFlightMax = 256;
/// Names in one page of a listing.
inline constexpr std::uint32_t kListPageMax = 4096;
/// Deletes of one index commit.
inline constexpr std::uint32_t kDeleteBatchMax = 1024;

// ---- frames between processes (DESIGN section 9) ------------------------------------------------

/// A bulk commit of 1,000 files of a few extents each fits several times.
inline constexpr std::uint32_t kFrameBodyBytesMax = 4 * kMiB;
/// One fragment, in pieces that the receiver hands out.
inline constexpr std::uint64_t kFramePayloadBytesMax = kFragmentBytesMax;
/// What an unknown peer may make us hold, before its proof was checked.
inline constexpr std::uint32_t kHelloBodyBytesMax = 4 * kKiB;
static_assert(kHelloBodyBytesMax <= kFrameBodyBytesMax);

// ---- metadata (DESIGN section 5) ----------------------------------------------------------------

/// Records that one command reads or writes: what a command may delay those behind it by.
inline constexpr std::uint32_t kCommandRecordsMax = 4096;
/// New ids of one command; an id is (command index, n) in one integer.
inline constexpr std::uint32_t kIdsPerCommandBits = 12;
/// Files or objects of one atomic commit.
inline constexpr std::uint32_t kCommitItemsMax = 1000;
/// Commands of one session that wait for an answer: each has a slot in the reply table.
inline constexpr std::uint32_t kCommandsPerSessionMax = 16;
/// An answer is kept for a repeat, so it is short.
inline constexpr std::uint32_t kReplyBytesMax = 256 * kKiB;
/// POSIX names; as the kernel has them.
inline constexpr std::uint32_t kNameBytesMax = 255;
inline constexpr std::uint32_t kSymlinkBytesMax = 4095;
inline constexpr std::uint32_t kAttributeNameBytesMax = 255;
inline constexpr std::uint32_t kAttributeBytesMax = 64 * kKiB;
/// All extended attributes of one inode: a listing is one answer.
inline constexpr std::uint32_t kAttributesBytesMax = 128 * kKiB;
inline constexpr std::uint32_t kLinksMax = 65'000;
/// Largest file: offsets are signed 64-bit numbers for the kernel.
inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 62;
/// One inline extent, and all of one inode: above them compaction writes an object.
inline constexpr std::uint32_t kInlineExtentBytesMax = 8 * kKiB;
inline constexpr std::uint32_t kInlineFileBytesMax = 64 * kKiB;
/// Contents that stand on one another before a change waits for their flattening.
inline constexpr std::uint32_t kContentDepthMax = 8;
/// Files that one session has open; then ENFILE.
inline constexpr std::uint32_t kOpensPerSessionMax = 65'536;
/// Rows of one answer: directory entries, extents, names of a listing.
inline constexpr std::uint32_t kPageRowsMax = 1024;

static_assert(kCommandRecordsMax <= 1u << kIdsPerCommandBits);
static_assert(kCommitItemsMax < kCommandRecordsMax / 4);  // an object and its extents, twice over
static_assert(kReplyBytesMax <= kFrameBodyBytesMax);

}  // namespace cairn

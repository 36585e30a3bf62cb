#include "engine/store/superblock.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "engine/base/hash.h"
#include "engine/base/log.h"

namespace cairn::store {
namespace {

constexpr std::array<const char*, 2> kCopies = {"/superblock", "/superblock.copy"};

// On disk, little-endian:
//   0 magic u64      8 format u32    12 flags u32     16 sequence u64    24 cluster 16 B
//  40 target 16 B   56 created u64   64 capacity u64  72 segment u64     80 epoch u64
//  88 metadata u64  96 index u64    104 segment_mark u64
// 112 pool length u32  116 failure length u32  120 pool 32 B  152 failure 256 B
// 4088 hash u64 of the first 4088 bytes
enum : std::size_t {
  kAtMagic = 0,
  kAtFormat = 8,
  kAtFlags = 12,
  kAtSequence = 16,
  kAtCluster = 24,
  kAtTarget = 40,
  kAtCreated = 56,
  kAtCapacity = 64,
  kAtSegmentBytes = 72,
  kAtEpoch = 80,
  kAtMetadataMark = 88,
  kAtIndexCommit = 96,
  kAtSegmentMark = 104,
  kAtPoolLength = 112,
  kAtFailureLength = 116,
  kAtPool = 120,
  kAtFailure = kAtPool + kPoolNameBytesMax,
  kAtHash = kSuperblockBytes - sizeof(std::uint64_t),
};
static_assert(kAtFailure + kFailureBytesMax <= kAtHash);

constexpr std::uint32_t kFlagExpelled = 1;
constexpr std::uint32_t kFlagFailed = 2;

struct Copies {
  Superblock newest;
  std::size_t newest_at = 0;  ///< index in kCopies
};

Result<Copies> load_copies(env::Files& files, const std::string& directory) {
  std::optional<Copies> found;
  Status problem;
  for (std::size_t at = 0; at < kCopies.size(); ++at) {
    const std::string path = directory + kCopies.at(at);
    auto bytes = files.read(path, kSuperblockBytes);
    if (!bytes && bytes.error().code() == Code::kNotFound) continue;
    // A file that is there but can't be read says nothing about what it holds (I7).
    if (!bytes && bytes.error().reason() != Reason::kTooLarge) {
      problem.ignore();
      return fail(std::move(bytes).error());
    }
    auto copy = bytes ? decode_superblock(as_bytes(*bytes))
                      : fail(Code::kCorrupt, std::string(bytes.error().message()));
    if (!copy) {
      log_warn("store", path + ": " + copy.error().to_string());
      problem.ignore();  // logged
      problem = std::move(copy).error().with_context(path);
    } else if (!found || copy->sequence > found->newest.sequence) {
      found = Copies{*std::move(copy), at};
    }
  }
  if (found) {
    problem.ignore();  // the other copy counts
    return *std::move(found);
  }
  if (!problem.ok()) return fail(std::move(problem));
  return fail(Code::kNotFound, directory +
                                   " is not a target: it has no superblock; make one with "
                                   "`cairn target init`");
}

}  // namespace

std::string encode(const Superblock& s) {
  CAIRN_CHECK(s.pool.size() <= kPoolNameBytesMax && s.failure.size() <= kFailureBytesMax);
  std::string out(kSuperblockBytes, '\0');
  char* at = out.data();
  store_le<std::uint64_t>(at + kAtMagic, kSuperblockMagic);
  store_le<std::uint32_t>(at + kAtFormat, kSuperblockFormat);
  store_le<std::uint32_t>(at + kAtFlags,
                          (s.expelled ? kFlagExpelled : 0) | (s.failed ? kFlagFailed : 0));
  store_le<std::uint64_t>(at + kAtSequence, s.sequence);
  std::memcpy(at + kAtCluster, s.cluster.bytes.data(), s.cluster.bytes.size());
  std::memcpy(at + kAtTarget, s.target.bytes.data(), s.target.bytes.size());
  store_le<std::uint64_t>(at + kAtCreated, s.created_s);
  store_le<std::uint64_t>(at + kAtCapacity, s.capacity_bytes);
  store_le<std::uint64_t>(at + kAtSegmentBytes, s.segment_bytes);
  store_le<std::uint64_t>(at + kAtEpoch, s.epoch.value);
  store_le<std::uint64_t>(at + kAtMetadataMark, s.metadata_mark.value);
  store_le<std::uint64_t>(at + kAtIndexCommit, s.index_commit);
  store_le<std::uint64_t>(at + kAtSegmentMark, s.segment_mark.value);
  store_le<std::uint32_t>(at + kAtPoolLength, static_cast<std::uint32_t>(s.pool.size()));
  store_le<std::uint32_t>(at + kAtFailureLength, static_cast<std::uint32_t>(s.failure.size()));
  std::copy(s.pool.begin(), s.pool.end(), at + kAtPool);
  std::copy(s.failure.begin(), s.failure.end(), at + kAtFailure);
  store_le<std::uint64_t>(at + kAtHash, hash64(as_bytes(out).first(kAtHash)));
  return out;
}

Result<Superblock> decode_superblock(Bytes bytes) {
  if (bytes.size() != kSuperblockBytes) {
    return fail(Code::kCorrupt, "superblock has " + std::to_string(bytes.size()) +
                                    " bytes instead of " + std::to_string(kSuperblockBytes));
  }
  const std::byte* at = bytes.data();
  if (load_le<std::uint64_t>(at + kAtMagic) != kSuperblockMagic) {
    return fail(Code::kCorrupt, "superblock has no magic");
  }
  const auto format = load_le<std::uint32_t>(at + kAtFormat);
  if (format != kSuperblockFormat) {
    return fail(Code::kUnsupported, Reason::kVersion,
                "superblock has format " + std::to_string(format) + ", this build reads " +
                    std::to_string(kSuperblockFormat));
  }
  if (load_le<std::uint64_t>(at + kAtHash) != hash64(bytes.first(kAtHash))) {
    return fail(Code::kCorrupt, "superblock fails its hash");
  }
  const auto pool_length = load_le<std::uint32_t>(at + kAtPoolLength);
  const auto failure_length = load_le<std::uint32_t>(at + kAtFailureLength);
  if (pool_length > kPoolNameBytesMax || failure_length > kFailureBytesMax) {
    return fail(Code::kCorrupt, "superblock has an impossible text length");
  }
  Superblock s;
  const auto flags = load_le<std::uint32_t>(at + kAtFlags);
  s.expelled = (flags & kFlagExpelled) != 0;
  s.failed = (flags & kFlagFailed) != 0;
  s.sequence = load_le<std::uint64_t>(at + kAtSequence);
  std::memcpy(s.cluster.bytes.data(), at + kAtCluster, s.cluster.bytes.size());
  std::memcpy(s.target.bytes.data(), at + kAtTarget, s.target.bytes.size());
  s.created_s = load_le<std::uint64_t>(at + kAtCreated);
  s.capacity_bytes = load_le<std::uint64_t>(at + kAtCapacity);
  s.segment_bytes = load_le<std::uint64_t>(at + kAtSegmentBytes);
  s.epoch.value = load_le<std::uint64_t>(at + kAtEpoch);
  s.metadata_mark.value = load_le<std::uint64_t>(at + kAtMetadataMark);
  s.index_commit = load_le<std::uint64_t>(at + kAtIndexCommit);
  s.segment_mark.value = load_le<std::uint64_t>(at + kAtSegmentMark);
  s.pool = as_text(bytes.subspan(kAtPool, pool_length));
  s.failure = as_text(bytes.subspan(kAtFailure, failure_length));
  return s;
}

Result<Superblock> load_superblock(env::Files& files, const std::string& directory) {
  TRY(Copies copies, load_copies(files, directory));
  return std::move(copies.newest);
}

Task<Status> write_superblock(env::Files& files, std::string directory, Superblock superblock) {
  const std::string bytes = encode(superblock);
  for (const char* name : kCopies) CO_TRY_VOID(co_await files.replace(directory + name, bytes));
  co_return Status();
}

Result<std::unique_ptr<SuperblockFile>> SuperblockFile::open(Executor executor, env::Files& files,
                                                             std::string directory) {
  TRY(Copies copies, load_copies(files, directory));
  return std::unique_ptr<SuperblockFile>(
      new SuperblockFile(std::move(executor), files, std::move(directory), std::move(copies.newest),
                         1 - copies.newest_at));
}

Task<Status> SuperblockFile::update(std::function<void(Superblock&)> change) {
  co_await turn_.acquire(1);
  Status written;
  if (!other_lasts_) written = co_await write_copy(1 - doubtful_, encode(current_));
  if (written.ok()) {
    other_lasts_ = true;
    Superblock next = current_;
    change(next);
    current_.sequence = ++next.sequence;  // also spent by an update that fails half-way
    written = co_await write_copies(encode(next));
    if (written.ok()) current_ = std::move(next);
  }
  turn_.release(1);
  co_return written;
}

Task<Status> SuperblockFile::write_copies(std::string bytes) {
  CO_TRY_VOID(co_await write_copy(doubtful_, bytes));
  doubtful_ = 1 - doubtful_;
  co_return co_await write_copy(doubtful_, std::move(bytes));
}

Task<Status> SuperblockFile::write_copy(std::size_t copy, std::string bytes) {
  const std::string path = directory_ + kCopies.at(copy);
  Status written = co_await files_.overwrite(path, bytes);
  // Gone, or cut short: somebody damaged it.
  if (written.code() != Code::kNotFound && written.code() != Code::kInvalid) co_return written;
  co_return co_await files_.replace(path, bytes);
}

}  // namespace cairn::store

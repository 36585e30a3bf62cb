// A target's folder while nobody serves it: init, inspect, rebuild.
#include <algorithm>
#include <array>

#include "engine/base/log.h"
#include "engine/store/recovery.h"
#include "engine/store/target_impl.h"

namespace cairn::store {
namespace {

/// What init itself may have left behind before its last step, the superblock.
constexpr std::array<std::string_view, 4> kOwnNames = {"lock", "index", "segments", "ballast"};
/// The folder that every fresh ext4 file system has.
constexpr std::string_view kLostAndFound = "lost+found";

/// kExists or kInvalid (foreign), unless the folder is ours to fill.
Status check_usable(env::Files& files, const std::string& directory) {
  if (auto present = load_superblock(files, directory); present) {
    return {Code::kExists, directory + " is a target already (" + to_string(present->target) +
                               " of cluster " + to_string(present->cluster) + ")"};
  } else if (present.error().reason() == Reason::kNotDirectory) {
    return {Code::kInvalid, Reason::kNotDirectory,
            directory + ", or a part of its path, is a file; choose a folder"};
  } else if (present.error().code() != Code::kNotFound) {
    return std::move(present).error().with_context(directory + " looks like a target");
  }
  TRY(const auto entries, files.list(directory));
  for (const env::DirectoryEntry& entry : entries) {
    if (entry.name == kLostAndFound || std::ranges::count(kOwnNames, entry.name) > 0) continue;
    return {Code::kInvalid, Reason::kForeign,
            directory + " holds other files ('" + entry.name + "'); choose an empty folder"};
  }
  auto segments = files.list(directory + kSegmentsFolder);
  if (!segments && segments.error().code() == Code::kNotFound) return {};
  if (!segments) return std::move(segments).error();
  if (segments->empty()) return {};
  return {Code::kInvalid, Reason::kForeign,
          directory + " holds segments but no superblock: a damaged target; move it away first"};
}

std::string parent_of(const std::string& directory) {
  const std::size_t slash = directory.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : directory.substr(0, slash);
}

/// Everything but the superblock.
Result<Superblock> plan(env::Env env, const std::string& directory, const InitOptions& options) {
  if (options.pool != "fast" && options.pool != "capacity") {
    return fail(Code::kInvalid, "pool '" + options.pool + "' is neither 'fast' nor 'capacity'");
  }
  TRY(const env::SpaceInfo space, env.files.space(directory));
  Superblock s;
  s.sequence = 1;
  s.cluster = options.cluster.is_nil() ? env.random.uuid() : options.cluster;
  s.target = env.random.uuid();
  s.created_s = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(env.clock.wall_now().time_since_epoch())
          .count());
  s.capacity_bytes = options.capacity_bytes != 0 ? options.capacity_bytes : space.total_bytes;
  if (s.capacity_bytes > space.total_bytes) {
    return fail(Code::kInvalid, "capacity " + format_bytes(s.capacity_bytes) +
                                    " is more than the file system has (" +
                                    format_bytes(space.total_bytes) + ")");
  }
  s.segment_bytes =
      round_down(options.segment_bytes != 0 ? options.segment_bytes
                                            : std::clamp(s.capacity_bytes / kSegmentsPerDeviceMin,
                                                         kSegmentBytesMin, kSegmentBytesMax),
                 kPageBytes);
  s.pool = options.pool;
  if (s.segment_bytes == 0 || s.segment_bytes > kSegmentBytesMax) {
    return fail(Code::kInvalid, "segment size " + format_bytes(s.segment_bytes) +
                                    " is not between 4 KiB and " + format_bytes(kSegmentBytesMax));
  }
  if (s.capacity_bytes < 2 * s.segment_bytes) {
    return fail(Code::kInvalid, "capacity " + format_bytes(s.capacity_bytes) +
                                    " holds less than two segments of " +
                                    format_bytes(s.segment_bytes));
  }
  const std::uint64_t needed = ballast_bytes(s.capacity_bytes) + headroom_bytes(s.capacity_bytes);
  if (space.free_bytes < needed) {
    return fail(Code::kNoSpace, format_bytes(space.free_bytes) + " free, a target of this size " +
                                    "needs " + format_bytes(needed) + " for itself");
  }
  return s;
}

/// A fresh index that knows nothing and says so.
Task<Result<std::unique_ptr<FragmentIndex>>> create_index(env::Env env, std::string directory) {
  CO_TRY_VOID(env.key_values.destroy(directory + kIndexFolder));
  co_return FragmentIndex::open(env.key_values, directory + kIndexFolder,
                                env::KeyValueOpen::kCreate);
}

Task<Status> finish_index(FragmentIndex& index, ScanMark mark) {
  IndexChange change;
  change.put_mark(mark);
  CO_TRY_VOID(index.apply(change));
  co_return co_await index.sync();
}

Status make_directory_if_missing(env::Files& files, const std::string& path) {
  Status made = files.make_directory(path);
  return made.code() == Code::kExists ? Status() : std::move(made);
}

}  // namespace

Task<Status> init_target(env::Env env, std::string directory, InitOptions options) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  Status made = make_directory_if_missing(env.files, directory);
  if (made.code() == Code::kNotFound) {
    co_return Status(Code::kNotFound, "there is no folder " + parent_of(directory) + " to make " +
                                          directory + " in; make it first");
  }
  CO_TRY_VOID(std::move(made));
  CO_TRY_VOID(check_usable(env.files, directory));
  CO_TRY(const Superblock superblock, plan(env, directory, options));
  CO_TRY(const auto lock, env.files.lock(directory + kLockFile));
  CO_TRY_VOID(make_directory_if_missing(env.files, directory + kSegmentsFolder));
  CO_TRY_VOID(co_await env.files.reserve(directory + kBallastFile,
                                         ballast_bytes(superblock.capacity_bytes)));
  CO_TRY(const auto index, co_await create_index(env, directory));
  CO_TRY_VOID(co_await finish_index(*index, ScanMark{}));
  // Last: without it the folder is no target and init may run again.
  CO_TRY_VOID(co_await env.files.sync_directory(directory));
  CO_TRY_VOID(co_await write_superblock(env.files, directory, superblock));
  co_return co_await env.files.sync_directory(parent_of(directory));
}

Task<Result<TargetInfo>> inspect_target(env::Env env, std::string directory) {
  CO_TRY(const Superblock s, load_superblock(env.files, directory));
  CO_TRY(const auto index, FragmentIndex::open(env.key_values, directory + kIndexFolder,
                                               env::KeyValueOpen::kReadOnly));
  CO_TRY(const ScanMark mark, index->mark());
  CO_TRY(const auto segments, index->segments());
  CO_TRY(const auto dead, index->dead());
  TargetInfo out;
  out.cluster = s.cluster;
  out.target = s.target;
  out.pool = s.pool;
  out.epoch = s.epoch;
  out.metadata_mark = s.metadata_mark;
  out.expelled = s.expelled;
  out.failed = s.failed;
  out.failure = s.failure;
  out.capacity_bytes = s.capacity_bytes;
  out.segment_bytes = s.segment_bytes;
  out.segments = segments.size();
  for (const auto& [number, record] : segments) {
    out.fragments += record.fragments;
    out.live_bytes += record.bytes;
  }
  const Space space(env.files, directory, s.capacity_bytes);
  CO_TRY(out.free_bytes, space.free_bytes({out.live_bytes, 0}));
  out.dead_extents = dead.size();
  out.index_commit = mark.commit;
  co_return out;
}

Task<Result<RebuildReport>> rebuild_index(env::Env env, std::string directory) {
  CO_TRY(Superblock superblock, load_superblock(env.files, directory));
  auto lock = env.files.lock(directory + kLockFile);
  if (!lock) co_return fail(std::move(lock).error().with_context("stop the target first"));
  CO_TRY(superblock, load_superblock(env.files, directory));
  const std::string segments_path = directory + kSegmentsFolder;
  CO_TRY(const auto numbers, list_segments(env.files, segments_path));
  CO_TRY(const auto pool, io::PiecePool::make(env.executor, kScanPieces));

  // Until its mark is written the new index says that it is incomplete.
  CO_TRY(const auto index, co_await create_index(env, directory));
  SegmentSet segments(env, segments_path, superblock.segment_bytes, kOpenFilesMax,
                      [](const Status&) {});  // nothing is appended here
  RebuildReport report;
  SegmentNumber highest = superblock.segment_mark;
  for (const SegmentNumber number : numbers) {
    highest = std::max(highest, number);
    segments.adopt(number, {});
    auto file = co_await segments.file(number);
    if (!file) co_return fail(std::move(file).error());
    auto known = [](const FragmentHeader&, const Extent&) -> Result<bool> { return false; };
    CO_TRY(const SegmentFindings findings,
           co_await find_fragments(env.device, *pool, (*file)->get(), number, 0, superblock,
                                   std::move(known)));
    CO_TRY_VOID(co_await segments.flush(number));  // what is indexed must be durable
    std::vector<Extent> dead;                      // recorded; the next start gives the blocks back
    for (const FoundFragment& found : findings.found) {
      CO_TRY_VOID(merge_found(*index, segments, found, dead));
      if (!found.verified) ++report.unverified;
    }
    ++report.segments;
  }
  const SegmentRecord total = segments.total();
  report.fragments = total.fragments;
  report.fragment_bytes = total.bytes;

  ScanMark mark;
  mark.commit = superblock.index_commit + 1;
  mark.segment_highest = highest;
  CO_TRY_VOID(co_await finish_index(*index, mark));
  superblock.index_commit = mark.commit;
  superblock.segment_mark = highest;
  ++superblock.sequence;
  CO_TRY_VOID(co_await write_superblock(env.files, directory, superblock));
  co_return report;
}

}  // namespace cairn::store

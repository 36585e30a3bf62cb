#include "engine/store/segment_set.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "engine/base/log.h"

namespace cairn::store {
namespace {

constexpr std::string_view kSuffix = ".seg";
constexpr std::size_t kDigits = 16;

}  // namespace

std::string segment_file_name(SegmentNumber number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number.value));
  return std::string(text.data()).append(kSuffix);
}

std::optional<SegmentNumber> parse_segment_file_name(std::string_view name) {
  SegmentNumber number;
  const char* digits_end = name.data() + kDigits;
  if (name.size() != kDigits + kSuffix.size() || !name.ends_with(kSuffix) ||
      std::from_chars(name.data(), digits_end, number.value, 16).ptr != digits_end) {
    return std::nullopt;
  }
  return number;
}

SegmentSet::SegmentSet(env::Env env, std::string directory, std::uint64_t segment_bytes,
                       std::uint32_t open_files_max,
                       std::function<void(const Status&)> flush_failed)
    : env_(env),
      flush_failed_(std::move(flush_failed)),
      directory_(std::move(directory)),
      segment_bytes_(segment_bytes),
      open_files_max_(open_files_max),
      starting_(env.executor, 1),
      settled_(env.executor),
      tails_(env.executor) {}

// ---- allocation ---------------------------------------------------------------------------------

Task<Result<Extent>> SegmentSet::allocate(std::uint64_t bytes,
                                          std::uint64_t new_segment_bytes_max) {
  CAIRN_CHECK(bytes <= segment_bytes_ && is_aligned(bytes, kPageBytes));
  while (room() < bytes) {
    co_await starting_.acquire(1);
    Status started;
    if (room() < bytes) {  // another put may have started one meanwhile
      const std::uint64_t size =
          round_down(std::min(segment_bytes_, new_segment_bytes_max), kPageBytes);
      if (size < bytes) {
        started = Status(Code::kNoSpace, "no room for a segment of " + format_bytes(bytes) +
                                             "; delete fragments or add a target");
      } else {
        started = co_await start_segment(size);
      }
    }
    starting_.release(1);
    if (!started.ok()) co_return fail(std::move(started));
  }
  OpenSegment& open = *segments_.at(current_).open;
  const Extent extent{current_, open.append, bytes};
  open.append += bytes;
  open.running.insert(extent.offset);
  co_return extent;
}

Task<Status> SegmentSet::start_segment(std::uint64_t bytes) {
  if (current_.value != 0) {
    const SegmentNumber full = std::exchange(current_, SegmentNumber{});
    close_if_settled(full);
  }
  while (open_count() >= kOpenSegmentsMax) co_await settled_.wait();
  const SegmentNumber number{highest_.value + 1};
  auto file = co_await env_.device.open(path(number), env::DeviceOpen::kCreate, bytes);
  if (!file) co_return std::move(file).error().with_context("new segment");
  // Known at once: a mark that has seen the number must list the segment as open.
  highest_ = number;
  Segment& segment = segments_[number];
  segment.open = std::make_unique<OpenSegment>();
  segment.open->bytes = bytes;
  segment.flushes = std::make_unique<FlushGroup>(env_.executor);
  remember(number, std::make_shared<SegmentFile>(env_.device, *file));
  // Before the first acknowledgement of a fragment in it: a name that a crash may lose is no
  // record.
  Status named = co_await env_.files.sync_directory(directory_);
  if (!named.ok()) {
    close_if_settled(number);
    co_return named;
  }
  current_ = number;
  co_return Status();
}

std::uint64_t SegmentSet::room() const {
  if (current_.value == 0) return 0;
  const OpenSegment& open = *segments_.at(current_).open;
  return open.bytes - open.append;
}

void SegmentSet::settle(const Extent& extent) {
  segments_.at(extent.segment).open->running.erase(extent.offset);
  close_if_settled(extent.segment);
}

void SegmentSet::close_if_settled(SegmentNumber number) {
  OpenSegment& open = *segments_.at(number).open;
  if (number == current_ || open.closing || !open.running.empty()) return;
  open.closing = true;
  tails_.spawn(cut_tail(number));
}

Task<Status> SegmentSet::cut_tail(SegmentNumber number) {
  // The mark lists the segment until this has lasted; else a crash would leave the tail for good.
  OpenSegment& open = *segments_.at(number).open;
  const auto opened = co_await file(number);
  Status cut = opened ? Status() : opened.error();
  if (cut.ok()) {
    const int result = co_await env_.device.truncate((*opened)->get(), open.append);
    if (result < 0) cut = status_from_errno(-result, path(number) + ": cutting the tail");
  }
  if (cut.ok()) {
    cut = co_await flush(number);
    if (!cut.ok()) flush_failed_(cut);
  }
  if (!cut.ok()) log_warn("store", cut.to_string());  // costs space until the segment goes
  segments_.at(number).open.reset();
  settled_.pulse();  // not a lasting set: whoever waits counts again
  co_return Status();
}

std::uint32_t SegmentSet::open_count() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      segments_, [](const auto& entry) { return entry.second.open != nullptr; }));
}

// ---- files --------------------------------------------------------------------------------------

Task<Result<SegmentFilePtr>> SegmentSet::file(SegmentNumber number) {
  const auto found = segments_.find(number);
  // Whatever is wrong with a segment, no fragment in it may be called absent (I7).
  if (found == segments_.end()) co_return fail(Code::kIo, path(number) + ": no such segment");
  if (SegmentFilePtr file = found->second.file) {
    recently_used_.splice(recently_used_.begin(), recently_used_, found->second.used);
    co_return file;
  }
  auto opened = co_await env_.device.open(path(number), env::DeviceOpen::kReadWrite, 0);
  if (!opened) {
    Status error = std::move(opened).error();
    if (error.code() != Code::kNotFound) co_return fail(std::move(error));
    co_return fail(Code::kIo, path(number) + ": the segment file is missing");
  }
  auto handle = std::make_shared<SegmentFile>(env_.device, *opened);
  // Two readers may have opened it at once, or it may have gone: the first keeps its handle.
  if (const auto now = segments_.find(number); now != segments_.end() && !now->second.file) {
    remember(number, handle);
  }
  co_return handle;
}

void SegmentSet::remember(SegmentNumber number, SegmentFilePtr file) {
  Segment& segment = segments_.at(number);
  segment.file = std::move(file);
  recently_used_.push_front(number);
  segment.used = recently_used_.begin();
  auto oldest = recently_used_.end();
  while (recently_used_.size() > open_files_max_ && oldest != recently_used_.begin()) {
    --oldest;
    Segment& candidate = segments_.at(*oldest);
    if (candidate.open) continue;  // being written: its handle stays
    candidate.file.reset();
    oldest = recently_used_.erase(oldest);
  }
}

Task<Status> SegmentSet::flush(SegmentNumber number) {
  auto opened = co_await file(number);
  if (!opened) co_return std::move(opened).error();
  Segment& segment = segments_.at(number);
  if (!segment.flushes) segment.flushes = std::make_unique<FlushGroup>(env_.executor);
  co_return co_await segment.flushes->flush(env_.device, (*opened)->get());
}

std::vector<SegmentNumber> SegmentSet::empty_closed() const {
  std::vector<SegmentNumber> found;
  for (const auto& [number, segment] : segments_) {
    if (!segment.open && segment.live.fragments == 0) found.push_back(number);
  }
  return found;
}

Task<Status> SegmentSet::unlink(SegmentNumber number) {
  Status removed = co_await env_.files.remove(path(number));
  if (!removed.ok() && removed.code() != Code::kNotFound) co_return removed;
  co_return co_await env_.files.sync_directory(directory_);
}

void SegmentSet::forget(SegmentNumber number) {
  const auto found = segments_.find(number);
  CAIRN_CHECK(found != segments_.end() && !found->second.open && found->second.live.fragments == 0);
  if (found->second.file) recently_used_.erase(found->second.used);
  segments_.erase(found);
}

// ---- accounting ---------------------------------------------------------------------------------

SegmentRecord SegmentSet::add_live(const Extent& extent) {
  SegmentRecord& live = segments_.at(extent.segment).live;
  live.fragments += 1;
  live.bytes += extent.bytes;
  return live;
}

SegmentRecord SegmentSet::remove_live(const Extent& extent) {
  SegmentRecord& live = segments_.at(extent.segment).live;
  CAIRN_CHECK(live.fragments >= 1 && live.bytes >= extent.bytes);
  live.fragments -= 1;
  live.bytes -= extent.bytes;
  return live;
}

ScanMark SegmentSet::mark() const {
  ScanMark mark;
  mark.segment_highest = highest_;
  for (const auto& [number, segment] : segments_) {
    if (!segment.open) continue;
    const auto& running = segment.open->running;
    mark.open.push_back({number, running.empty() ? segment.open->append : *running.begin()});
  }
  return mark;
}

SegmentRecord SegmentSet::total() const {
  SegmentRecord total;
  for (const auto& [number, segment] : segments_) {
    total.fragments += segment.live.fragments;
    total.bytes += segment.live.bytes;
  }
  return total;
}

SegmentUsage SegmentSet::usage() const {
  SegmentUsage usage;
  for (const auto& [number, segment] : segments_) {
    if (!segment.open) {
      usage.used_bytes += segment.live.bytes;
      continue;
    }
    usage.used_bytes += segment.open->append;
    // Only the current one is appended to; the tails of the others are cut off when they settle.
    (number == current_ ? usage.room_bytes : usage.used_bytes) +=
        segment.open->bytes - segment.open->append;
  }
  return usage;
}

Task<Status> SegmentSet::close() {
  if (current_.value != 0) {
    const SegmentNumber last = std::exchange(current_, SegmentNumber{});
    close_if_settled(last);
  }
  co_return co_await tails_.join();
}

}  // namespace cairn::store

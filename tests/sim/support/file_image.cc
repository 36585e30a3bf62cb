#include "tests/sim/support/file_image.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/units.h"

namespace cairn::sim {

const Page* PageMap::get(std::uint64_t page) const {
  const auto chunk = chunks_.find(page / kChunkPages);
  return chunk == chunks_.end() ? nullptr : chunk->second[page % kChunkPages].get();
}

PageRef PageMap::share(std::uint64_t page) const {
  const auto chunk = chunks_.find(page / kChunkPages);
  return chunk == chunks_.end() ? nullptr : chunk->second[page % kChunkPages];
}

void PageMap::set(std::uint64_t page, PageRef content) {
  chunks_[page / kChunkPages][page % kChunkPages] = std::move(content);
}

void PageMap::erase(std::uint64_t first, std::uint64_t end) {
  auto chunk = chunks_.lower_bound(first / kChunkPages);
  while (chunk != chunks_.end() && chunk->first * kChunkPages < end) {
    const std::uint64_t base = chunk->first * kChunkPages;
    if (base >= first && base + kChunkPages <= end) {
      chunk = chunks_.erase(chunk);
      continue;
    }
    for (std::uint64_t i = 0; i < kChunkPages; ++i) {
      if (base + i >= first && base + i < end) chunk->second[i] = nullptr;
    }
    ++chunk;
  }
}

std::uint64_t PageMap::next(std::uint64_t from) const {
  for (auto chunk = chunks_.lower_bound(from / kChunkPages); chunk != chunks_.end(); ++chunk) {
    const std::uint64_t base = chunk->first * kChunkPages;
    for (std::uint64_t i = 0; i < kChunkPages; ++i) {
      if (base + i >= from && chunk->second[i] != nullptr) return base + i;
    }
  }
  return kNone;
}

std::uint64_t RangeSet::insert(std::uint64_t first, std::uint64_t end) {
  if (first >= end) return 0;
  const std::uint64_t added = end - first - count(first, end);
  auto range = ranges_.upper_bound(first);
  if (range != ranges_.begin() && std::prev(range)->second >= first) --range;
  while (range != ranges_.end() && range->first <= end) {  // swallow what it touches
    first = std::min(first, range->first);
    end = std::max(end, range->second);
    range = ranges_.erase(range);
  }
  ranges_.emplace(first, end);
  size_ += added;
  return added;
}

std::uint64_t RangeSet::erase(std::uint64_t first, std::uint64_t end) {
  if (first >= end) return 0;
  const std::uint64_t removed = count(first, end);
  if (removed == 0) return 0;
  auto range = ranges_.upper_bound(first);
  if (range != ranges_.begin() && std::prev(range)->second > first) --range;
  while (range != ranges_.end() && range->first < end) {
    const auto [low, high] = *range;
    range = ranges_.erase(range);
    if (low < first) ranges_.emplace(low, first);
    if (high > end) ranges_.emplace(end, high);
  }
  size_ -= removed;
  return removed;
}

std::uint64_t RangeSet::count(std::uint64_t first, std::uint64_t end) const {
  std::uint64_t found = 0;
  auto range = ranges_.upper_bound(first);
  if (range != ranges_.begin()) --range;
  for (; range != ranges_.end() && range->first < end; ++range) {
    const std::uint64_t low = std::max(first, range->first);
    const std::uint64_t high = std::min(end, range->second);
    if (low < high) found += high - low;
  }
  return found;
}

FileChange make_write(std::uint64_t offset, Bytes data) {
  CAIRN_CHECK(is_aligned(offset, kPageBytes) && is_aligned(data.size(), kPageBytes));
  FileChange change;
  change.offset = offset;
  change.length = data.size();
  change.pages.reserve(data.size() / kPageBytes);
  for (std::uint64_t at = 0; at < data.size(); at += kPageBytes) {
    auto page = std::make_shared<Page>();
    std::memcpy(page->bytes.data(), data.data() + at, kPageBytes);
    change.pages.push_back(std::move(page));
  }
  return change;
}

void apply(FileImage& image, const FileChange& change) {
  const std::uint64_t first = change.offset / kPageBytes;
  const std::uint64_t end = divide_up(change.offset + change.length, kPageBytes);
  switch (change.kind) {
    case FileChange::Kind::kAllocate:
      image.allocated.insert(first, end);
      image.bytes = std::max(image.bytes, change.offset + change.length);
      break;
    case FileChange::Kind::kWrite:
      image.allocated.insert(first, end);
      image.bytes = std::max(image.bytes, change.offset + change.length);
      for (std::uint64_t i = 0; i < change.pages.size(); ++i) {
        image.pages.set(first + i, change.pages[i]);
      }
      break;
    case FileChange::Kind::kPunch:
      image.allocated.erase(first, end);
      image.pages.erase(first, end);
      break;
    case FileChange::Kind::kTruncate: {
      const std::uint64_t keep = divide_up(change.offset, kPageBytes);
      image.allocated.erase(keep, PageMap::kNone);
      image.pages.erase(keep, PageMap::kNone);
      image.bytes = change.offset;
      break;
    }
  }
}

namespace {

/// Which of `pieces` pieces reached the medium before the power went.
std::vector<bool> choose_pieces(std::uint64_t pieces, SplitMix64& random) {
  std::vector<bool> kept(pieces);
  const std::uint64_t pattern = random.below(4);
  const std::uint64_t cut = random.below(pieces + 1);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    if (pattern == 0) kept[i] = i < cut;   // in order
    if (pattern == 1) kept[i] = i >= cut;  // the end first
    if (pattern >= 2) kept[i] = random.one_in(2);
  }
  return kept;
}

PageRef torn_page(const Page* before, const Page& after, const std::vector<bool>& kept,
                  std::uint64_t first_sector) {
  auto page = std::make_shared<Page>();
  if (before != nullptr) *page = *before;
  for (std::uint64_t sector = 0; sector < kPageBytes / kSectorBytes; ++sector) {
    if (!kept[first_sector + sector]) continue;
    const std::uint64_t at = sector * kSectorBytes;
    std::memcpy(page->bytes.data() + at, after.bytes.data() + at, kSectorBytes);
  }
  return page;
}

}  // namespace

void apply_torn(FileImage& image, const FileChange& change, SplitMix64& random) {
  const bool write = change.kind == FileChange::Kind::kWrite;
  if (!write && change.kind != FileChange::Kind::kPunch) return;
  constexpr std::uint64_t kSectors = kPageBytes / kSectorBytes;
  const std::uint64_t pages = change.length / kPageBytes;
  const bool by_sector = write && random.one_in(2);
  const std::vector<bool> kept = choose_pieces(by_sector ? pages * kSectors : pages, random);
  for (std::uint64_t i = 0; i < pages; ++i) {
    FileChange part{change.kind, change.number, change.offset + i * kPageBytes, kPageBytes, {}};
    if (by_sector) {
      const auto from = kept.begin() + static_cast<std::ptrdiff_t>(i * kSectors);
      if (std::find(from, from + kSectors, true) == from + kSectors) continue;
      const Page* before = image.pages.get(part.offset / kPageBytes);
      part.pages.push_back(torn_page(before, *change.pages[i], kept, i * kSectors));
    } else {
      if (!kept[i]) continue;
      if (write) part.pages.push_back(change.pages[i]);
    }
    apply(image, part);
  }
}

std::uint64_t read_image(const FileImage& image, std::uint64_t offset, MutableBytes into) {
  if (offset >= image.bytes) return 0;
  const std::uint64_t length = std::min<std::uint64_t>(into.size(), image.bytes - offset);
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t in_page = (offset + done) % kPageBytes;
    const std::uint64_t step = std::min(kPageBytes - in_page, length - done);
    const Page* page = image.pages.get((offset + done) / kPageBytes);
    if (page == nullptr) {
      std::memset(into.data() + done, 0, step);
    } else {
      std::memcpy(into.data() + done, page->bytes.data() + in_page, step);
    }
    done += step;
  }
  return length;
}

}  // namespace cairn::sim

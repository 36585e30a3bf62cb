#include "tests/sim/support/disk.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/base/check.h"

namespace cairn::sim {

SimDisk::SimDisk(SimScheduler& scheduler, SimDiskOptions options)
    : scheduler_(scheduler),
      options_(options),
      faults_(options_, stats_, scheduler.split_random()),
      random_(scheduler.split_random()),
      space_(std::make_shared<Space>()) {}

SimDisk::~SimDisk() {
  // Only a test that failed half-way leaves some: their coroutines die with the scheduler.
  for (const auto& [number, flight] : flights_) flight->disk_ = nullptr;
}

// ---- for tests ----------------------------------------------------------------------------------

void SimDisk::add_directory(const std::string& path) {
  const std::string name = normal_path(path);
  CAIRN_CHECK(names_.has_directory(parent_path(name)) && names_.find(name) == nullptr);
  InodeRef inode = new_inode(name);
  inode->is_directory = true;
  names_.change_durably(name, std::move(inode));
}

std::uint64_t SimDisk::free_bytes() const {
  const std::uint64_t used = used_bytes();
  return used >= options_.capacity_bytes ? 0 : options_.capacity_bytes - used;
}

InodeRef SimDisk::must_find(const std::string& path) const {
  InodeRef inode = names_.find(normal_path(path));
  CAIRN_CHECK(inode != nullptr);
  return inode;
}

bool SimDisk::exists(const std::string& path) const {
  return names_.find(normal_path(path)) != nullptr;
}

std::vector<std::string> SimDisk::files_below(const std::string& directory) const {
  const std::string prefix = normal_path(directory) + "/";
  std::vector<std::string> out;
  for (const auto& [path, inode] : names_.all()) {
    if (path.starts_with(prefix) && !inode->is_directory) out.push_back(path);
  }
  return out;
}

std::uint64_t SimDisk::file_bytes(const std::string& path) const {
  return must_find(path)->current.bytes;
}

std::string SimDisk::content(const std::string& path) const {
  return peek(path, 0, file_bytes(path));
}

std::string SimDisk::peek(const std::string& path, std::uint64_t offset,
                          std::uint64_t length) const {
  std::string out(length, '\0');
  const MutableBytes into(reinterpret_cast<std::byte*>(out.data()), out.size());
  out.resize(read_image(must_find(path)->current, offset, into));
  return out;
}

void SimDisk::poke(const std::string& path, std::uint64_t offset, std::string_view bytes) {
  Inode& inode = *must_find(path);
  CAIRN_CHECK(offset + bytes.size() <= inode.current.bytes);
  make_durable(inode, inode.last_change);
  std::uint64_t done = 0;
  while (done < bytes.size()) {
    const std::uint64_t page = (offset + done) / kPageBytes;
    const std::uint64_t in_page = (offset + done) % kPageBytes;
    const std::uint64_t step = std::min<std::uint64_t>(kPageBytes - in_page, bytes.size() - done);
    auto content = std::make_shared<Page>();
    if (const Page* before = inode.current.pages.get(page)) *content = *before;
    std::memcpy(content->bytes.data() + in_page, bytes.data() + done, step);
    inode.current.pages.set(page, content);
    inode.durable.pages.set(page, content);
    done += step;
  }
}

void SimDisk::overwrite(const std::string& path, const std::string& bytes) {
  set_content(*must_find(path), bytes);
}

std::shared_ptr<SimStore> SimDisk::store(const std::string& path) const {
  const InodeRef inode = names_.find(normal_path(path));
  return inode == nullptr ? nullptr : inode->store;
}

void SimDisk::flip_bit(const std::string& path, std::uint64_t offset, std::uint8_t bit) {
  must_find(path)->overlays.push_back({Overlay::Kind::kFlip, offset, 1, 0, bit});
}

void SimDisk::zero(const std::string& path, std::uint64_t offset, std::uint64_t length) {
  must_find(path)->overlays.push_back({Overlay::Kind::kZeros, offset, length, 0, 0});
}

void SimDisk::misplace(const std::string& path, std::uint64_t offset, std::uint64_t length,
                       std::uint64_t from) {
  must_find(path)->overlays.push_back({Overlay::Kind::kFrom, offset, length, from, 0});
}

void SimDisk::heal(const std::string& path) { must_find(path)->overlays.clear(); }

// ---- crash and kill -----------------------------------------------------------------------------

void SimDisk::crash() {
  ++stats_.crashes;
  settle_flights(nullptr);
  for (const auto& life : lives_) end_life(*life);
  lives_.clear();
  names_.settle(random_, stats_);
  // Some crashes lose nearly everything, some nothing: both are needed to find bugs.
  static constexpr std::uint64_t kMoods[] = {0, 15, 50, 85, 100};
  const std::uint64_t keep_percent = kMoods[random_.below(std::size(kMoods))];
  std::set<std::uint64_t> settled;
  for (const auto& [path, inode] : names_.all()) {
    if (settled.insert(inode->id).second) settle_inode(*inode, keep_percent);
  }
  recount();
  scheduler_.trace(TraceKind::kCrash, stats_.crashes, stats_.lost_changes, stats_.lost_names);
}

void SimDisk::end_process(Life& life) {
  settle_flights(&life);
  end_life(life);
  std::erase_if(lives_, [&](const auto& other) { return other.get() == &life; });
  scheduler_.trace(TraceKind::kCrash, 0, life.number, stats_.settled_in_flight);
}

void SimDisk::settle_flights(const Life* only) {
  for (const auto& [number, flight] : flights_) {
    if (only != nullptr && flight->life_ != only->number) continue;
    if (!flight->may_happen_) continue;
    const auto may_happen = std::exchange(flight->may_happen_, nullptr);
    if (random_.one_in(2)) continue;
    ++stats_.settled_in_flight;
    may_happen(random_);
  }
}

void SimDisk::end_life(Life& life) {
  life.alive = false;
  if (life.on_end) std::exchange(life.on_end, nullptr)();
  for (const auto& [path, inode] : names_.all()) {
    if (inode->locked_by == life.number) inode->locked_by = 0;
    if (inode->store != nullptr) inode->store->process_ended(life.number);
  }
}

void SimDisk::settle_inode(Inode& inode, std::uint64_t keep_percent) {
  const bool tears = keep_percent < 100;
  // Blocks are allocated in the journal before anything written to them can be seen: without the
  // allocation nothing that came after it is there.
  bool without_blocks = false;
  for (const FileChange& change : inode.pending) {
    const bool allocates = change.kind == FileChange::Kind::kAllocate;
    if (!without_blocks && !allocates && tears && random_.one_in(3)) {
      apply_torn(inode.durable, change, random_);
      ++stats_.torn_changes;
    } else if (!without_blocks && random_.below(100) < keep_percent) {
      apply(inode.durable, change);
      ++stats_.kept_changes;
    } else {
      without_blocks = without_blocks || allocates;
      ++stats_.lost_changes;
    }
  }
  inode.pending.clear();
  inode.current = inode.durable;
  if (inode.store != nullptr) inode.store->settle(random_, stats_);
}

void SimDisk::recount() {
  space_->used_pages = 0;
  for (const auto& [path, inode] : names_.all()) {
    inode->links = 0;
    inode->locked_by = 0;
    inode->users = std::make_shared<int>(0);
  }
  for (const auto& [path, inode] : names_.all()) {
    if (inode->links++ == 0) space_->used_pages += inode->current.allocated.size();
  }
}

// ---- for the views ------------------------------------------------------------------------------

std::shared_ptr<Life> SimDisk::new_life() {
  lives_.push_back(std::make_shared<Life>(Life{++last_life_, true, nullptr}));
  return lives_.back();
}

InodeRef SimDisk::new_inode(const std::string& path) {
  auto inode = std::make_shared<Inode>();
  inode->id = ++last_inode_;
  inode->created_as = path;
  return inode;
}

void SimDisk::trace(TraceKind kind, SimOperation operation, const Inode* inode, std::uint64_t a,
                    std::uint64_t b) {
  const std::uint64_t id = inode == nullptr ? 0 : inode->id;
  scheduler_.trace(kind, static_cast<std::uint64_t>(operation) << 48 | id, a, b);
}

void SimDisk::complete(Inode& inode, FileChange change) {
  const std::uint64_t before = inode.current.allocated.size();
  change.number = ++inode.last_change;
  apply(inode.current, change);
  space_->used_pages += inode.current.allocated.size() - before;
  inode.pending.push_back(std::move(change));
}

void SimDisk::make_durable(Inode& inode, std::uint64_t last_change) {
  auto change = inode.pending.begin();
  for (; change != inode.pending.end() && change->number <= last_change; ++change) {
    apply(inode.durable, *change);
  }
  inode.pending.erase(inode.pending.begin(), change);
}

void SimDisk::fail_flush(Inode& inode, std::uint64_t last_change) {
  auto change = inode.pending.begin();
  for (; change != inode.pending.end() && change->number <= last_change; ++change) {
    if (random_.one_in(3)) {
      apply(inode.durable, *change);
    } else {
      ++stats_.dropped_by_flush;
    }
  }
  inode.pending.erase(inode.pending.begin(), change);
}

bool SimDisk::has_room(const Inode& inode, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t first = offset / kPageBytes;
  const std::uint64_t end = divide_up(offset + length, kPageBytes);
  const std::uint64_t needed = end - first - inode.current.allocated.count(first, end);
  if (needed * kPageBytes <= free_bytes()) return true;
  ++stats_.no_space;
  return false;
}

std::uint64_t SimDisk::read(const Inode& inode, std::uint64_t offset, MutableBytes into) {
  const std::uint64_t got = read_image(inode.current, offset, into);
  for (const Overlay& overlay : inode.overlays) {
    const std::uint64_t low = std::max(offset, overlay.offset);
    const std::uint64_t high = std::min(offset + got, overlay.offset + overlay.length);
    if (low >= high) continue;
    const MutableBytes part = into.subspan(low - offset, high - low);
    if (overlay.kind == Overlay::Kind::kFlip) {
      part[0] ^= std::byte{1} << (overlay.bit % 8);
      ++stats_.flipped_reads;
      continue;
    }
    ++stats_.misplaced_reads;
    std::memset(part.data(), 0, part.size());
    if (overlay.kind == Overlay::Kind::kFrom) {
      read_image(inode.current, overlay.from + (low - overlay.offset), part);
    }
  }
  if (got > 0 && options_.read_flip_one_in != 0 && random_.one_in(options_.read_flip_one_in)) {
    into[random_.below(got)] ^= std::byte{1} << random_.below(8);
    ++stats_.flipped_reads;
  }
  return got;
}

void SimDisk::set_content(Inode& inode, std::string_view bytes) {
  std::string padded(bytes);
  padded.resize(round_up(bytes.size(), kPageBytes));
  complete(inode, make_write(0, as_bytes(padded)));
  FileChange cut;
  cut.kind = FileChange::Kind::kTruncate;
  cut.offset = bytes.size();
  complete(inode, std::move(cut));
  make_durable(inode, inode.last_change);
}

void SimDisk::remove_name(const std::string& path) {
  const User keep(*this, names_.find(path));  // its end gives the space back
  names_.change(path, nullptr);
}

SimDisk::User::~User() {
  const bool counted = token_ == inode_->users;  // not so when the power went since
  token_.reset();
  if (!counted || inode_->links > 0 || inode_->users.use_count() > 1) return;
  space_->used_pages -= inode_->current.allocated.size();
  inode_->current.allocated = {};  // the durable image keeps its own: the removal may yet be lost
}

SimDisk::Flight::Flight(SimDisk& disk, const Life& life,
                        std::function<void(SplitMix64&)> may_happen)
    : disk_(&disk),
      life_(life.number),
      number_(++disk.last_flight_),
      may_happen_(std::move(may_happen)) {
  disk.flights_.emplace(number_, this);
}

SimDisk::Flight::~Flight() {
  if (disk_ != nullptr) disk_->flights_.erase(number_);
}

}  // namespace cairn::sim

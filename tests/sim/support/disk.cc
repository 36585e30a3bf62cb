#include "tests/sim/support/disk.h"

#include <algorithm>
#include <cstring>

namespace cairn::sim {

InodeRef SimDisk::must_find(const std::string& path) const {
  InodeRef inode = names_.find(normal_path(path));
  CAIRN_CHECK(inode != nullptr && !inode->is_directory);
  return inode;
}

void SimDisk::flip_bit(const std::string& path, std::uint64_t offset, std::uint8_t bit) {
  must_find(path)->overlays.push_back({Overlay::Kind::kFlip, offset, 1, 0, bit});
}
void SimDisk::zero(const std::string& path, std::uint64_t offset, std::uint64_t length) {
  must_find(path)->overlays.push_back({Overlay::Kind::kZeros, offset, length});
}
void SimDisk::misplace(const std::string& path, std::uint64_t offset, std::uint64_t length,
                       std::uint64_t from) {
  must_find(path)->overlays.push_back({Overlay::Kind::kFrom, offset, length, from});
}
void SimDisk::heal(const std::string& path) { must_find(path)->overlays.clear(); }

void SimDisk::overwrite(const std::string& path, std::string bytes) {
  Inode& inode = *must_find(path);
  std::string padded = bytes;
  padded.resize(round_up(padded.size(), kPageBytes));
  FileImage image;
  apply(image, make_write(0, as_bytes(padded)));
  image.bytes = bytes.size();
  inode.current = inode.durable = std::move(image);
  inode.pending.clear();
}

std::string SimDisk::content(const std::string& path) const {
  const InodeRef inode = must_find(path);
  std::string out(inode->current.bytes, '\0');
  read_image(inode->current, 0, std::as_writable_bytes(std::span(out)));
  return out;
}

std::uint64_t SimDisk::file_bytes(const std::string& path) const {
  return must_find(path)->current.bytes;
}

std::uint64_t SimDisk::used_bytes() const {
  std::uint64_t pages = 0;
  for (const std::weak_ptr<Inode>& weak : inodes_) {
    // A removed file keeps its blocks while it is open.
    const InodeRef inode = weak.lock();
    if (inode && (inode->links > 0 || *inode->opens > 0)) pages += inode->current.allocated.size();
  }
  return pages * kPageBytes;
}

void SimDisk::change(Inode& inode, FileChange change) {
  change.number = ++inode.last_change;
  apply(inode.current, change);
  inode.pending.push_back(std::move(change));
}

void SimDisk::flush(Inode& inode, std::uint64_t up_to) {
  auto change = inode.pending.begin();
  for (; change != inode.pending.end() && change->number <= up_to; ++change) {
    apply(inode.durable, *change);
  }
  inode.pending.erase(inode.pending.begin(), change);
}

void SimDisk::drop_by_failed_flush(Inode& inode, std::uint64_t up_to) {
  // Sizes and allocations are the file system's journal, not the lost pages.
  for (const FileChange& change : inode.pending) {
    if (change.number <= up_to && change.kind != FileChange::Kind::kWrite) {
      apply(inode.durable, change);
    }
  }
  stats_.dropped_by_flush += std::erase_if(
      inode.pending, [up_to](const FileChange& change) { return change.number <= up_to; });
}

FileChange SimDisk::to_change(const InFlight& operation) const {
  if (operation.kind == FileChange::Kind::kWrite) {
    return make_write(operation.offset, operation.data);
  }
  FileChange change;
  change.kind = operation.kind;
  change.offset = operation.offset;
  change.length = operation.length;
  return change;
}

void SimDisk::stop_process(bool power_lost) {
  ++(power_lost ? stats_.crashes : stats_.kills);
  scheduler_.trace(TraceKind::kCrash, power_lost);
  for (const InFlight& operation : in_flight_) {
    if (random_.one_in(2)) continue;
    ++stats_.settled_in_flight;
    change(*operation.inode, to_change(operation));
  }
  if (!power_lost) return;

  for (const std::weak_ptr<Inode>& weak : inodes_) {
    const InodeRef inode = weak.lock();
    if (!inode) continue;
    if (inode->store) inode->store->settle(random_, stats_);
    // Any subset in any order of arrival: what overlaps is decided by the order of completion.
    for (const FileChange& change : inode->pending) {
      const std::uint64_t fate = random_.below(3);
      if (fate == 0) {
        ++stats_.lost_changes;
      } else if (fate == 1) {
        ++stats_.torn_changes;
        apply_torn(inode->durable, change, random_);
      } else {
        ++stats_.kept_changes;
        apply(inode->durable, change);
      }
    }
    inode->pending.clear();
    inode->current = inode->durable;
  }
  names_.settle(random_, stats_);
  for (const std::weak_ptr<Inode>& weak : inodes_) {
    if (const InodeRef inode = weak.lock()) inode->links = 0;
  }
  for (const auto& [path, inode] : names_.all()) ++inode->links;
}

}  // namespace cairn::sim

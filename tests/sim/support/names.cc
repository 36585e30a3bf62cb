#include "tests/sim/support/names.h"

#include <algorithm>

namespace cairn::sim {

std::string normal_path(const std::string& path) {
  std::string out = "/";
  for (const char c : path) {
    if (c == '/' && out.back() == '/') continue;
    out.push_back(c);
  }
  if (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

std::string parent_path(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

NameTable::NameTable() {
  auto root = std::make_shared<Inode>();
  root->is_directory = true;
  root->links = 1;
  current_["/"] = durable_["/"] = root;
}

InodeRef NameTable::find(const std::string& path) const {
  const auto found = current_.find(path);
  return found == current_.end() ? nullptr : found->second;
}

bool NameTable::has_directory(const std::string& path) const {
  const InodeRef inode = find(path);
  return inode != nullptr && inode->is_directory;
}

std::vector<std::pair<std::string, InodeRef>> NameTable::children(
    const std::string& directory) const {
  std::vector<std::pair<std::string, InodeRef>> out;
  const std::string prefix = directory == "/" ? "/" : directory + "/";
  for (auto entry = current_.upper_bound(prefix);
       entry != current_.end() && entry->first.starts_with(prefix); ++entry) {
    const std::string name = entry->first.substr(prefix.size());
    if (name.find('/') == std::string::npos) out.emplace_back(name, entry->second);
  }
  return out;
}

void NameTable::set(std::map<std::string, InodeRef>& names, const std::string& path,
                    InodeRef inode) {
  const auto found = names.find(path);
  if (&names == &current_) {
    if (found != names.end()) --found->second->links;
    if (inode != nullptr) ++inode->links;
  }
  if (inode != nullptr) {
    names[path] = std::move(inode);
  } else if (found != names.end()) {
    names.erase(found);
  }
}

void NameTable::change(const std::string& path, InodeRef inode) {
  pending_[parent_path(path)].push_back({++last_change_, path, inode});
  set(current_, path, std::move(inode));
}

void NameTable::change_durably(const std::string& path, InodeRef inode) {
  // Earlier changes of this very name must not come after it.
  std::erase_if(pending_[parent_path(path)], [&](const Change& c) { return c.path == path; });
  set(durable_, path, inode);
  set(current_, path, std::move(inode));
}

void NameTable::sync(const std::string& directory, std::uint64_t up_to) {
  std::vector<Change>& changes = pending_[directory];
  auto change = changes.begin();
  for (; change != changes.end() && change->number <= up_to; ++change) {
    set(durable_, change->path, change->inode);
  }
  changes.erase(changes.begin(), change);
}

void NameTable::settle(SplitMix64& random, SimDiskStats& stats) {
  for (auto& [directory, changes] : pending_) {
    const std::uint64_t kept = random.below(changes.size() + 1);
    for (std::uint64_t i = 0; i < kept; ++i) set(durable_, changes[i].path, changes[i].inode);
    stats.kept_names += kept;
    stats.lost_names += changes.size() - kept;
  }
  pending_.clear();
  drop_unreachable();
  current_ = durable_;
}

void NameTable::drop_unreachable() {
  // In path order a directory comes before what is in it, so one pass is enough.
  for (auto entry = durable_.begin(); entry != durable_.end();) {
    const auto parent = durable_.find(parent_path(entry->first));
    const bool reachable = parent != durable_.end() && parent->second->is_directory;
    entry = reachable ? std::next(entry) : durable_.erase(entry);
  }
}

}  // namespace cairn::sim

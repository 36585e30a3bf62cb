#include "bench/cairn_bench/target/tree_packer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace cairn::bench {
namespace {

namespace fs = std::filesystem;

/// In name order at each level, so that two runs over one tree pack the same objects.
Status list_files(const fs::path& directory, std::vector<std::string>& files,
                  std::uint64_t& skipped) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(*it);
  }
  if (error) return status_from_errno(error.value(), "list " + directory.string());
  std::ranges::sort(entries, {}, [](const fs::directory_entry& e) { return e.path(); });
  for (const fs::directory_entry& entry : entries) {
    const fs::file_status status = entry.symlink_status(error);
    if (error) return status_from_errno(error.value(), "stat " + entry.path().string());
    if (fs::is_directory(status)) {
      TRY_VOID(list_files(entry.path(), files, skipped));
    } else if (fs::is_regular_file(status) && ::access(entry.path().c_str(), R_OK) == 0) {
      files.push_back(entry.path().string());
    } else {
      ++skipped;
    }
  }
  return {};
}

/// Up to the end of the file or of `into`.
Result<std::uint64_t> read_part(const std::string& path, std::uint64_t offset, MutableBytes into) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return fail(status_from_errno(errno, "open " + path));
  std::uint64_t done = 0;
  ssize_t got = 1;
  while (got != 0 && done < into.size()) {
    got = ::pread(descriptor, into.data() + done, into.size() - done,
                  static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    done += static_cast<std::uint64_t>(got);
  }
  const int error = errno;
  ::close(descriptor);
  if (got < 0) return fail(status_from_errno(error, "read " + path));
  return done;
}

}  // namespace

Result<TreePacker> TreePacker::make(const std::string& root) {
  TreePacker packer;
  TRY_VOID(list_files(root, packer.files_, packer.skipped_));
  return packer;
}

Result<TreePacker::Packed> TreePacker::next(MutableBytes into) {
  Packed packed;
  while (packed.bytes < into.size() && at_ < files_.size()) {
    const MutableBytes room = into.subspan(packed.bytes);
    TRY(const std::uint64_t got, read_part(files_[at_], offset_, room));
    if (got > 0) packed.sources.push_back({files_[at_], offset_, got});
    packed.bytes += got;
    offset_ += got;
    if (got == room.size()) break;  // this file may go on in the next object
    ++at_;
    offset_ = 0;
  }
  return packed;
}

void TreePacker::rewind() {
  at_ = 0;
  offset_ = 0;
}

}  // namespace cairn::bench

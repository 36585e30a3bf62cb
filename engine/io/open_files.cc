#include "engine/io/open_files.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "engine/base/log.h"

namespace cairn::io {

OpenFiles::OpenFiles(Ring& ring, std::uint32_t slots) : ring_(ring) {
  if (slots == 0) return;
  if (Status status = ring_.register_files(slots); !status.ok()) {
    log_info("io", "files are not registered with io_uring, operations cost a little more CPU: " +
                       status.to_string());
    return;
  }
  registered_ = true;
  for (auto slot = static_cast<int>(slots); slot > 0; --slot) free_slots_.push_back(slot - 1);
}

env::DeviceFile OpenFiles::add(Descriptor descriptor) {
  const env::DeviceFile handle{++last_handle_};
  int slot = OpenFile::kNoSlot;
  if (!free_slots_.empty() &&
      ring_.set_file(static_cast<std::uint32_t>(free_slots_.back()), descriptor.get())) {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  files_.emplace(handle.value, OpenFile{handle, std::move(descriptor), slot});
  return handle;
}

OpenFile* OpenFiles::find(env::DeviceFile handle) {
  const auto found = files_.find(handle.value);
  return found == files_.end() || found->second.closing ? nullptr : &found->second;
}

void OpenFiles::release(OpenFile& file, const Executor& closer) {
  --file.in_use;
  close_if_unused(file, closer);
}

void OpenFiles::close(env::DeviceFile handle, const Executor& closer) {
  OpenFile* file = find(handle);
  if (file == nullptr) return;
  file->closing = true;
  close_if_unused(*file, closer);
}

void OpenFiles::close_if_unused(OpenFile& file, const Executor& closer) {
  if (!file.closing || file.in_use != 0) return;
  if (file.slot != OpenFile::kNoSlot) {
    // Before the descriptor: the ring's reference must not be the last one.  A slot that can't be
    // emptied is not used again.
    if (ring_.set_file(static_cast<std::uint32_t>(file.slot), -1)) free_slots_.push_back(file.slot);
  }
  boost::asio::post(closer, [descriptor = std::move(file.descriptor)] {});
  files_.erase(file.handle.value);
}

}  // namespace cairn::io

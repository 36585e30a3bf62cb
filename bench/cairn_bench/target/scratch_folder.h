// A folder of our own inside the user's, removed afterwards: at the end, and when the user
// interrupts.
#pragma once

#include <memory>
#include <string>

#include "engine/base/status.h"

namespace cairn::bench {

class ScratchFolder {
 public:
  /// Makes a fresh subfolder of `directory`, which is made too when missing.  One at a time.
  static Result<std::unique_ptr<ScratchFolder>> make(const std::string& directory);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Removes one subfolder with all that is in it.
  void remove(const std::string& name) const;

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace cairn::bench

// A folder of a test's own under TMPDIR, removed with all that is in it when the test ends.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::crash {

class WorkFolder {
 public:
  /// Fails the test (std::abort) when it can't be made.
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }
  /// Every user may pass through it.
  void open_to_all() const;

 private:
  std::string path_;
};

/// Number from the environment, `otherwise` when it is not set.
std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise);
/// CAIRN_SEED, or one from the clock; the test prints it.
std::uint64_t seed_from_environment();

}  // namespace cairn::crash

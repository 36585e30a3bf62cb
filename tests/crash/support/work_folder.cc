#include "tests/crash/support/work_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace cairn::crash {

WorkFolder::WorkFolder() {
  path_ = (std::filesystem::temp_directory_path() / "cairn-crash-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) {
    std::perror(path_.c_str());
    std::abort();
  }
}

WorkFolder::~WorkFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) std::fprintf(stderr, "%s is left: %s\n", path_.c_str(), error.message().c_str());
}

void WorkFolder::open_to_all() const { ::chmod(path_.c_str(), 0777); }

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t seed_from_environment() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::uint64_t seed = number_from_environment("CAIRN_SEED", static_cast<std::uint64_t>(now));
  std::fprintf(stderr, "seed %llu (CAIRN_SEED repeats it)\n",
               static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace cairn::crash

// Test support: runs a coroutine on a real io_context, and gives a test a folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "engine/env/task.h"

namespace cairn::testing {

/// Runs `task` and everything else that is queued until the context has nothing left to do.
template <class T>
T run_on_context(boost::asio::io_context& context, Task<T> task) {
  std::optional<T> value;
  auto finished = [&value](std::exception_ptr error, T result) {
    if (error) std::rethrow_exception(error);
    value.emplace(std::move(result));
  };
  boost::asio::co_spawn(context, std::move(task), std::move(finished));
  context.restart();
  context.run();
  return std::move(value).value();
}

/// A fresh folder under $TMPDIR, else under the working directory (a real file system, for
/// O_DIRECT); removed with all that is in it.
class TestFolder {
 public:
  TestFolder() : TestFolder(default_parent()) {}
  explicit TestFolder(const std::string& parent) {
    std::string pattern = parent + "/cairn-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      ADD_FAILURE() << "no test folder in " << parent;
      std::abort();
    }
    path_ = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  static std::string default_parent() {
    const char* given = std::getenv("TMPDIR");
    return given != nullptr ? given : std::filesystem::current_path().string();
  }
  std::string path_;
};

}  // namespace cairn::testing

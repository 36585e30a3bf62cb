// Test support: a device on a real folder, page-aligned memory with a recognisable content, and a
// way to run code in a child process with less rights.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "engine/base/limits.h"
#include "engine/base/random.h"
#include "engine/io/uring_device.h"
#include "tests/unit/io/ring_calls.h"
#include "tests/unit/platform/on_context.h"

namespace cairn::testing {

/// Page-aligned memory on the heap, so that AddressSanitizer knows its end.
class AlignedMemory {
 public:
  explicit AlignedMemory(std::uint64_t bytes)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes))), bytes_(bytes) {
    std::memset(memory_.get(), 0, bytes);
  }
  MutableBytes span() const { return {memory_.get(), bytes_}; }
  MutableBytes span(std::uint64_t from, std::uint64_t bytes) const {
    return span().subspan(from, bytes);
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::uint64_t bytes_;
};

/// Fills with bytes that depend on `seed` and place.
inline void fill_pattern(MutableBytes memory, std::uint64_t seed) {
  SplitMix64 random(seed);
  for (std::uint64_t at = 0; at + 8 <= memory.size(); at += 8) {
    store_le<std::uint64_t>(memory.data() + at, random.next());
  }
}
inline bool has_pattern(Bytes memory, std::uint64_t seed) {
  SplitMix64 random(seed);
  for (std::uint64_t at = 0; at + 8 <= memory.size(); at += 8) {
    if (load_le<std::uint64_t>(memory.data() + at) != random.next()) return false;
  }
  return true;
}
inline bool is_zero(Bytes memory) {
  for (const std::byte byte : memory) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

struct DeviceTest : ::testing::Test {
  DeviceTest() { ring_calls() = {}; }
  ~DeviceTest() override {
    device.reset();
    ring_calls() = {};
  }

  void make_device(io::UringOptions options = {}) {
    device.reset();
    auto made = io::make_uring_device(context, options);
    if (!made.has_value()) FAIL() << made.error().to_string();
    device = *std::move(made);
  }
  template <class T>
  T run(Task<T> task) {
    return run_on_context(context, std::move(task));
  }
  env::DeviceFile create(const std::string& name, std::uint64_t bytes) {
    return must_open(name, env::DeviceOpen::kCreate, bytes);
  }
  env::DeviceFile must_open(const std::string& name, env::DeviceOpen mode,
                            std::uint64_t bytes = 0) {
    auto opened = run(device->open(folder / name, mode, bytes));
    if (!opened.has_value()) {
      ADD_FAILURE() << opened.error().to_string();
      return {};
    }
    return *opened;
  }
  int write(env::DeviceFile file, std::uint64_t offset, Bytes data) {
    return run(device->write_at(file, offset, data));
  }
  int read(env::DeviceFile file, std::uint64_t offset, MutableBytes into) {
    return run(device->read_at(file, offset, into));
  }

  TestFolder folder;
  boost::asio::io_context context;
  std::unique_ptr<env::BlockDevice> device;
};

/// Runs `body` in a child process and returns its exit status; gtest expectations inside print and
/// turn into status 1.
inline int in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace cairn::testing

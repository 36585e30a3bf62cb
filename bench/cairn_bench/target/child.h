// A child process that never outlives this one: killed when its owner goes, and by the kernel when
// this process dies.  Only ever signalled by its own id.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace cairn::bench {

struct ChildOptions {
  std::vector<std::string> command;  ///< program (found in PATH) and arguments
  std::string output;                ///< file for standard output and error; empty: this process's
  std::uint64_t descriptors = 0;     ///< limit of open files; 0: as here
  std::optional<uid_t> user;         ///< runs as this user, without groups
};

class Child {
 public:
  /// kNotFound: no such program.
  static Result<Child> start(ChildOptions options);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  /// Kills and waits.
  ~Child();

  void kill(int signal);
  bool running();
  /// Exit status, 128 + signal when it died of one; nullopt after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  std::optional<int> status_;
};

/// Runs a command to its end.  kIo with the end of its output when it fails, kTimeout after `limit`
/// (it is killed).  `output` is where it writes.
Status run_command(std::vector<std::string> command, const std::string& output,
                   std::chrono::milliseconds limit);

}  // namespace cairn::bench

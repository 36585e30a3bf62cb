#include "bench/cairn_bench/target/scratch_folder.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <thread>

namespace cairn::bench {
namespace {

namespace fs = std::filesystem;

/// Waits for an interruption on a thread of its own: removing a folder is nothing a signal handler
/// may do.  The main thread may still be writing into it, hence the second try.
void remove_on_interrupt(const std::string& path) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // inherited by every later thread
  std::thread([path, signals] {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) return;
    std::error_code ignored;
    fs::remove_all(path, ignored);
    fs::remove_all(path, ignored);
    ::_exit(128 + signal);
  }).detach();
}

}  // namespace

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::make(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail(status_from_errno(error.value(), "create " + directory));
  std::string path = directory + "/cairn-bench-" + std::to_string(::getpid());
  if (!fs::create_directory(path, error)) {
    return fail(status_from_errno(error ? error.value() : EEXIST, "create " + path));
  }
  remove_on_interrupt(path);
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void ScratchFolder::remove(const std::string& name) const {
  std::error_code ignored;
  fs::remove_all(path_ + '/' + name, ignored);
}

}  // namespace cairn::bench

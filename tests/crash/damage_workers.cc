#include "tests/crash/damage_workers.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace {

/// Exit status of a worker in which a library's own assertion failed.
constexpr int kLibraryAsserted = 42;

}  // namespace

// Debian builds RocksDB with its assertions on, and some damage to an index file trips one.  Ours
// are CAIRN_CHECK, which does not come through here: an abort stays a failure of the test.
extern "C" [[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                           const char*) noexcept {
  std::fprintf(stderr, "assertion of a library: %s at %s:%u\n", assertion, file, line);
  ::_exit(kLibraryAsserted);
}

namespace cairn::crash {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWorkers = 2;

/// What a worker tells its parent; in memory that both have, because a worker may end anywhere, and
/// what it found before must still count.
struct Progress {
  std::size_t at = 0;  ///< its case: the one to blame when it dies
  std::uint64_t findings = 0;
};

class SharedProgress {
 public:
  SharedProgress()
      : workers_(static_cast<Progress*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (workers_ == MAP_FAILED) {
      std::perror("map memory for the workers");
      std::abort();
    }
  }
  ~SharedProgress() { ::munmap(workers_, kBytes); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;

  Progress& operator[](std::size_t worker) { return workers_[worker]; }

 private:
  static constexpr std::size_t kBytes = kWorkers * sizeof(Progress);
  Progress* workers_;
};

class Workers {
 public:
  Workers(const std::vector<Damage>& damages, const std::string& pristine, const std::string& work)
      : damages_(damages), pristine_(pristine), work_(work) {}

  DamageReport run() {
    for (std::size_t worker = 0; worker < kWorkers; ++worker) start(worker, worker);
    for (std::size_t worker = 0; worker < kWorkers; ++worker) {
      while (!ended(worker)) start(worker, progress_[worker].at + kWorkers);
      report_.findings += progress_[worker].findings;
    }
    return std::move(report_);
  }

 private:
  /// Every kWorkers-th case from `first` on, in a new process.
  void start(std::size_t worker, std::size_t first) {
    std::fflush(nullptr);  // or the child prints it again
    const pid_t child = ::fork();
    if (child < 0) {
      std::perror("fork");
      std::abort();
    }
    if (child == 0) {
      run_share(worker, first);
      std::fflush(stderr);
      ::_exit(0);
    }
    pids_[worker] = child;
  }

  /// Waits for a worker; false: it stopped in the middle, where it may, and has to go on.
  bool ended(std::size_t worker) {
    int status = 0;
    if (::waitpid(pids_[worker], &status, 0) != pids_[worker]) {
      std::perror("wait for a worker");
      std::abort();
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    const Damage& damage = damages_[progress_[worker].at];
    if (WIFEXITED(status) && WEXITSTATUS(status) == kLibraryAsserted) {
      // Loud, so not undetected; but only damage to the library's own files may lead there.
      ++report_.asserted;
      if (!damage.file.starts_with("index/")) {
        report_.deaths.push_back("an assertion of a library failed at: " + damage.what);
      }
      return false;
    }
    report_.deaths.push_back((WIFSIGNALED(status)
                                  ? "signal " + std::to_string(WTERMSIG(status))
                                  : "exit status " + std::to_string(WEXITSTATUS(status))) +
                             " at: " + damage.what);
    return false;
  }

  void run_share(std::size_t worker, std::size_t first) {
    Progress& progress = progress_[worker];
    const std::string copy = work_ + "/copy" + std::to_string(worker);
    for (progress.at = first; progress.at < damages_.size(); progress.at += kWorkers) {
      const Damage& damage = damages_[progress.at];
      fs::remove_all(copy);
      fs::copy(pristine_, copy, fs::copy_options::recursive);
      damage.apply(copy + '/' + damage.file);
      judge_damaged_target(copy, damage, [&progress](const std::string& text) {
        ++progress.findings;
        std::fprintf(stderr, "UNDETECTED %s\n", text.c_str());
      });
    }
  }

  const std::vector<Damage>& damages_;
  const std::string& pristine_;
  const std::string& work_;
  SharedProgress progress_;
  std::array<pid_t, kWorkers> pids_{};
  DamageReport report_;
};

}  // namespace

DamageReport run_damages(const std::vector<Damage>& damages, const std::string& pristine,
                         const std::string& work) {
  return Workers(damages, pristine, work).run();
}

}  // namespace cairn::crash

#include "bench/cairn_bench/target/child.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace cairn::bench {
namespace {

constexpr int kExecFailed = 127;
constexpr std::size_t kShownBytesMax = 2000;

/// Between fork and exec: system calls only.  Returns only when something failed.
void become(const ChildOptions& options, char* const* arguments, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return;  // it died before the line above
  if (!options.output.empty()) {
    const int out = ::open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (out < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(out, STDERR_FILENO) < 0) return;
  }
  if (options.descriptors != 0) {
    const rlimit limit{options.descriptors, options.descriptors};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  }
  if (options.user) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(*options.user) != 0) return;
    if (::setuid(*options.user) != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of user clears it
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(arguments[0], arguments);
}

std::string end_of_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  std::string out = text.str();
  if (out.size() > kShownBytesMax) out.erase(0, out.size() - kShownBytesMax);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace

Result<Child> Child::start(ChildOptions options) {
  std::vector<char*> arguments;
  for (std::string& argument : options.command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(status_from_errno(errno, "fork for " + options.command.front()));
  if (pid == 0) {
    become(options, arguments.data(), parent);
    ::_exit(kExecFailed);
  }
  return Child(pid);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

Child::~Child() {
  if (pid_ < 0) return;
  kill(SIGKILL);
  while (!wait(std::chrono::seconds(1))) {
  }
}

void Child::kill(int signal) {
  if (!status_) ::kill(pid_, signal);
}

bool Child::running() { return !wait(std::chrono::milliseconds(0)); }

std::optional<int> Child::wait(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!status_) {
    int raw = 0;
    const pid_t got = ::waitpid(pid_, &raw, WNOHANG);
    if (got == pid_) {
      status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    } else if (std::chrono::steady_clock::now() >= deadline) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return status_;
}

Status run_command(std::vector<std::string> command, const std::string& output,
                   std::chrono::milliseconds limit) {
  const std::string name = command.front();
  TRY(Child child, Child::start({std::move(command), output, 0, std::nullopt}));
  const std::optional<int> status = child.wait(limit);
  if (!status) {
    return {Code::kTimeout, name + " did not end within " + std::to_string(limit.count()) + " ms"};
  }
  if (*status == 0) return {};
  if (*status == kExecFailed) return {Code::kNotFound, name + " can't be run; is it installed?"};
  return {Code::kIo,
          name + " failed with status " + std::to_string(*status) + ": " + end_of_file(output)};
}

}  // namespace cairn::bench

#include "tests/crash/support/failing_device.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include "tests/crash/support/loop_fs.h"

namespace cairn::crash {
namespace {

constexpr std::chrono::seconds kLimit{20};

Status last_error(const std::string& what) { return status_from_errno(errno, what); }

}  // namespace

std::string FailingDevice::unavailable() {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return "no FUSE here";
  for (const std::string program : {"nbdkit", "nbdfuse"}) {
    if (::access(("/usr/bin/" + program).c_str(), X_OK) != 0) {
      return program + " is not installed (tools/setup soak)";
    }
  }
  return {};
}

FailingDevice::FailingDevice(std::string folder)
    : folder_(std::move(folder)),
      mount_point_(folder_ + "/device"),
      file_(mount_point_ + "/disk"),
      trigger_(folder_ + "/errors_on") {}

Result<std::unique_ptr<FailingDevice>> FailingDevice::make(const std::string& folder,
                                                           std::uint64_t bytes,
                                                           std::uint32_t percent) {
  TRY_VOID(enter_own_mount_namespace());
  std::unique_ptr<FailingDevice> device(new FailingDevice(folder));
  const std::string image = folder + "/disk";
  std::ofstream(image).flush();
  if (::truncate(image.c_str(), static_cast<off_t>(bytes)) != 0) {
    return fail(last_error("size " + image));
  }
  if (::mkdir(device->mount_point_.c_str(), 0755) != 0) {
    return fail(last_error("mkdir " + device->mount_point_));
  }
  TRY_VOID(device->start(percent));
  return device;
}

Status FailingDevice::start(std::uint32_t percent) {
  const std::string rate = std::to_string(percent) + '%';
  bench::ChildOptions options;
  options.command = {"nbdfuse",
                     file_,
                     "[",
                     "nbdkit",
                     "--exit-with-parent",
                     "--filter=error",
                     "file",
                     folder_ + "/disk",
                     "error=EIO",
                     "error-pwrite-rate=" + rate,
                     "error-pwrite-file=" + trigger_,
                     "error-zero-rate=" + rate,
                     "error-zero-file=" + trigger_,
                     "error-trim-rate=" + rate,
                     "error-trim-file=" + trigger_,
                     "]"};
  options.output = folder_ + "/nbd.log";
  TRY(bench::Child child, bench::Child::start(std::move(options)));
  server_ = std::make_unique<bench::Child>(std::move(child));
  const auto limit = std::chrono::steady_clock::now() + kLimit;
  struct stat found;
  while (::stat(file_.c_str(), &found) != 0) {
    if (!server_->running() || std::chrono::steady_clock::now() > limit) {
      return {Code::kUnavailable, "nbdfuse does not serve " + file_ + "; see nbd.log beside it"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

FailingDevice::~FailingDevice() {
  // Without it, the namespace's end does it all the same.
  ::umount2(mount_point_.c_str(), MNT_DETACH);
  if (server_) server_->wait(kLimit);  // it ends with the mount; else it is killed
}

Status FailingDevice::start_errors() {
  const int trigger = ::open(trigger_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (trigger < 0) return last_error("create " + trigger_);
  ::close(trigger);
  return {};
}

Status FailingDevice::stop_errors() {
  return ::unlink(trigger_.c_str()) == 0 ? Status() : last_error("remove " + trigger_);
}

std::uint64_t FailingDevice::errors() const {
  std::ifstream in(folder_ + "/nbd.log");
  std::uint64_t count = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find("injecting EIO") != std::string::npos) ++count;
  }
  return count;
}

}  // namespace cairn::crash

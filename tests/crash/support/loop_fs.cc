#include "tests/crash/support/loop_fs.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include "bench/cairn_bench/target/child.h"
#include "engine/base/units.h"

namespace cairn::crash {
namespace {

using bench::run_command;
constexpr std::chrono::seconds kCommandLimit{60};

// <linux/ext4.h> is not installed; xfs answers the same number (XFS_IOC_GOINGDOWN).
constexpr unsigned long kShutdown = _IOR('X', 125, std::uint32_t);
constexpr std::uint32_t kWithoutFlushingTheLog = 2;

Status last_error(const std::string& what) { return status_from_errno(errno, what); }

}  // namespace

Status enter_own_mount_namespace() {
  static bool entered = false;
  if (entered) return {};
  if (::unshare(CLONE_NEWNS) != 0) return last_error("unshare the mount namespace");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return last_error("make mounts private");
  }
  entered = true;
  return {};
}

std::string LoopFs::unavailable(const std::string& type) {
  if (::geteuid() != 0) return "needs root (loop devices and mounts)";
  if (::access("/dev/loop-control", R_OK | W_OK) != 0) return "no loop devices here";
  const std::string mkfs = "mkfs." + type;
  for (const char* folder : {"/sbin/", "/usr/sbin/", "/bin/", "/usr/bin/"}) {
    if (::access((folder + mkfs).c_str(), X_OK) == 0) return {};
  }
  return mkfs + " is not installed";
}

Result<std::unique_ptr<LoopFs>> LoopFs::make(const std::string& folder, const std::string& type,
                                             std::uint64_t bytes) {
  const std::string image = folder + "/image";
  const int descriptor = ::open(image.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail(last_error("create " + image));
  const int cut = ::ftruncate(descriptor, static_cast<off_t>(bytes));
  ::close(descriptor);
  if (cut != 0) return fail(last_error("size " + image));
  return make_on(image, folder, type);
}

Result<std::unique_ptr<LoopFs>> LoopFs::make_on(const std::string& image, const std::string& folder,
                                                const std::string& type) {
  TRY_VOID(enter_own_mount_namespace());
  std::unique_ptr<LoopFs> fs(new LoopFs(image, folder, type));
  fs->mount_point_ = folder + "/mount";
  if (::mkdir(fs->mount_point_.c_str(), 0755) != 0) return fail(last_error("mkdir mount"));
  // No blocks kept for root: who fills the file system is root here.
  if (type == "ext4") {
    TRY_VOID(run_command({"mkfs.ext4", "-q", "-F", "-m", "0", image}, folder + "/mkfs.log",
                         kCommandLimit));
  } else {
    TRY_VOID(run_command({"mkfs." + type, "-q", "-f", image}, folder + "/mkfs.log", kCommandLimit));
  }
  TRY_VOID(fs->mount());
  return fs;
}

LoopFs::~LoopFs() {
  Status unmounted = unmount();
  // The namespace's end does it all the same.
  unmounted.ignore();
}

Status LoopFs::cut_power() {
  const int descriptor = ::open(mount_point_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return last_error("open " + mount_point_);
  std::uint32_t how = kWithoutFlushingTheLog;
  const int result = ::ioctl(descriptor, kShutdown, &how);
  const Status status = result == 0 ? Status() : last_error("shut the file system down");
  ::close(descriptor);
  return status;
}

Status LoopFs::remount() {
  TRY_VOID(unmount());
  return mount();
}

Status LoopFs::mount() {
  TRY_VOID(run_command({"mount", "-t", type_, "-o", "loop", image_, mount_point_},
                       folder_ + "/mount.log", kCommandLimit));
  mounted_ = true;
  return {};
}

Status LoopFs::limit_requests(std::uint64_t bytes) {
  struct stat mounted;
  if (::stat(mount_point_.c_str(), &mounted) != 0) return last_error("stat " + mount_point_);
  const std::string setting = "/sys/dev/block/" + std::to_string(major(mounted.st_dev)) + ':' +
                              std::to_string(minor(mounted.st_dev)) + "/queue/max_sectors_kb";
  std::ofstream out(setting);
  out << bytes / kKiB << std::flush;
  return out ? Status() : Status(Code::kIo, "write " + setting);
}

Status LoopFs::preen() {
  // xfs replays its journal when it is mounted, and is never checked before.
  if (type_ == "xfs") return {};
  // Status 1: something was wrong and was mended.
  return run_command({"sh", "-c", "fsck.\"$1\" -p \"$2\" || [ $? -eq 1 ]", "sh", type_, image_},
                     folder_ + "/fsck.log", kCommandLimit);
}

Status LoopFs::unmount() {
  if (!mounted_) return {};
  // Threads of a process that was just killed may hold their files a moment longer.
  for (int i = 0; i < 100 && mounted_; ++i) {
    if (::umount2(mount_point_.c_str(), 0) == 0) {
      mounted_ = false;
    } else if (errno != EBUSY) {
      break;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  return mounted_ ? last_error("unmount " + mount_point_) : Status();
}

}  // namespace cairn::crash

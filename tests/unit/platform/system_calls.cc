#include "tests/unit/platform/system_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace cairn::testing {

SystemCalls& system_calls() {
  static SystemCalls calls;
  return calls;
}

namespace {
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
bool fails(int& count, int fail_at) {
  if (count++ != fail_at) return false;
  errno = EIO;
  return true;
}
}  // namespace
}  // namespace cairn::testing

using cairn::testing::system_calls;

extern "C" int fsync(int fd) {
  struct stat info{};
  ::fstat(fd, &info);
  system_calls().order.push_back(S_ISDIR(info.st_mode) ? "fsync directory" : "fsync file");
  if (cairn::testing::fails(system_calls().fsyncs, system_calls().fail_fsync_at)) return -1;
  return cairn::testing::next<int(int)>("fsync")(fd);
}

extern "C" int fdatasync(int fd) {
  system_calls().order.push_back("fdatasync");
  if (cairn::testing::fails(system_calls().fsyncs, system_calls().fail_fsync_at)) return -1;
  return cairn::testing::next<int(int)>("fdatasync")(fd);
}

extern "C" int rename(const char* from, const char* to) noexcept {
  system_calls().order.push_back("rename");
  if (cairn::testing::fails(system_calls().renames, system_calls().fail_rename_at)) return -1;
  return cairn::testing::next<int(const char*, const char*)>("rename")(from, to);
}

extern "C" dirent* readdir(DIR* directory) {
  if (cairn::testing::fails(system_calls().readdirs, system_calls().fail_readdir_at))
    return nullptr;
  return cairn::testing::next<dirent*(DIR*)>("readdir")(directory);
}

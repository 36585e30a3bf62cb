// Test support: this program's own fsync, fdatasync, rename and readdir, in front of the C
// library's, so that a test can watch their order and make them fail.  Production code has no seam
// for it.
#pragma once

#include <string>
#include <vector>

namespace cairn::testing {

/// Reset it at the start of each test.
struct SystemCalls {
  int fail_fsync_at = -1;    ///< number of the fsync or fdatasync that fails with EIO, from 0
  int fail_rename_at = -1;   ///< likewise
  int fail_readdir_at = -1;  ///< likewise; with errno EIO after some entries
  int fsyncs = 0;
  int renames = 0;
  int readdirs = 0;
  std::vector<std::string> order;  ///< "fsync file", "fsync directory", "fdatasync", "rename"
};
SystemCalls& system_calls();

}  // namespace cairn::testing

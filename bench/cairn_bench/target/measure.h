// Wall and CPU time of a piece of work, and rates made of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace cairn::bench {

/// What moving `bytes` took.  CPU seconds are those of all threads of the process and of its kernel
/// workers; interrupts and block-layer threads of the kernel belong to nobody and are not in it.
struct Rate {
  std::uint64_t bytes = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  double copy_cpu_seconds = 0;  ///< of cpu_seconds: put_object's copies

  Rate& operator+=(const Rate& other);
  double mib_per_s() const;
  double cpu_s_per_gib() const;
  double copy_cpu_s_per_gib() const;
  /// Without the copies, where a server has its socket's.
  double own_cpu_s_per_gib() const { return cpu_s_per_gib() - copy_cpu_s_per_gib(); }
};

/// CPU that the calling thread has used.
double thread_cpu_seconds();

class Stopwatch {
 public:
  Stopwatch();
  double seconds() const;
  Rate rate(std::uint64_t bytes) const;

 private:
  std::chrono::steady_clock::time_point begin_;
  double cpu_begin_;
};

/// 0 of none.
double median(std::vector<double> values);

}  // namespace cairn::bench

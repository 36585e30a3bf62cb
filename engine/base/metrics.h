// Numbers for operators: counters, gauges and latency histograms with fixed memory, exported in the
// Prometheus text format.  Updating one costs a relaxed atomic add; any thread.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cairn {

class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

/// Log-linear buckets, eight to each power of two: a quantile is at most 12.5 % too high.
/// Values are what the name says, usually microseconds; the largest are in the last bucket.
class Histogram {
 public:
  void record(std::uint64_t value);
  std::uint64_t count() const { return count_.value(); }
  std::uint64_t sum() const { return sum_.value(); }
  std::uint64_t max() const { return max_.load(std::memory_order_relaxed); }
  /// Upper end of the bucket that holds the q-th value, q in [0, 1]; 0 when empty.
  std::uint64_t quantile(double q) const;

 private:
  static constexpr unsigned kSubBits = 3;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) << kSubBits;
  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t upper_end(std::size_t bucket);

  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
  Counter count_;
  Counter sum_;
  std::atomic<std::uint64_t> max_{0};
};

/// Owns the metrics of one process; references stay valid while it lives.
class MetricRegistry {
 public:
  /// `name` begins with "cairn_" and has lower-case letters, digits and '_'; `help` is one
  /// sentence.  Another name, or the same one twice, aborts.
  Counter& counter(std::string name, std::string help);
  Gauge& gauge(std::string name, std::string help);
  Histogram& histogram(std::string name, std::string help);
  /// Text exposition format 0.0.4; histograms as summaries with quantiles 0.5, 0.99
  /// and 1 (the maximum).
  std::string prometheus_text() const;

 private:
  struct Entry {
    std::string name;
    std::string help;
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
  };
  Entry& add(std::string name, std::string help);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace cairn

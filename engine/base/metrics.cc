#include "engine/base/metrics.h"

#include <algorithm>
#include <string_view>

#include "engine/base/check.h"

namespace cairn {
namespace {

bool is_metric_name(std::string_view name) {
  return name.starts_with("cairn_") && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

/// A help text is one line of the format: backslash and line feed are escaped.
std::string escaped(std::string_view help) {
  std::string out;
  for (const char c : help) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::size_t Histogram::bucket_of(std::uint64_t value) {
  constexpr std::uint64_t kSub = std::uint64_t{1} << kSubBits;
  if (value < kSub) return value;
  const unsigned exponent = static_cast<unsigned>(std::bit_width(value)) - 1 - kSubBits;
  return ((std::size_t{exponent} + 1) << kSubBits) + ((value >> exponent) - kSub);
}

std::uint64_t Histogram::upper_end(std::size_t bucket) {
  constexpr std::uint64_t kSub = std::uint64_t{1} << kSubBits;
  if (bucket < kSub) return bucket;
  const unsigned exponent = static_cast<unsigned>(bucket >> kSubBits) - 1;
  const std::uint64_t first = (kSub + (bucket & (kSub - 1))) << exponent;
  return first + (std::uint64_t{1} << exponent) - 1;
}

void Histogram::record(std::uint64_t value) {
  buckets_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
  count_.add();
  sum_.add(value);
  std::uint64_t seen = max();
  while (value > seen && !max_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

std::uint64_t Histogram::quantile(double q) const {
  const std::uint64_t total = count();
  if (total == 0) return 0;
  const auto rank =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(q * static_cast<double>(total) + 0.5));
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    below += buckets_[bucket].load(std::memory_order_relaxed);
    if (below >= rank) return std::min(upper_end(bucket), max());
  }
  return max();
}

MetricRegistry::Entry& MetricRegistry::add(std::string name, std::string help) {
  CAIRN_CHECK(is_metric_name(name));
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) CAIRN_CHECK(entry->name != name);
  entries_.push_back(std::make_unique<Entry>());
  entries_.back()->name = std::move(name);
  entries_.back()->help = std::move(help);
  return *entries_.back();
}

Counter& MetricRegistry::counter(std::string name, std::string help) {
  Entry& entry = add(std::move(name), std::move(help));
  entry.counter = std::make_unique<Counter>();
  return *entry.counter;
}

Gauge& MetricRegistry::gauge(std::string name, std::string help) {
  Entry& entry = add(std::move(name), std::move(help));
  entry.gauge = std::make_unique<Gauge>();
  return *entry.gauge;
}

Histogram& MetricRegistry::histogram(std::string name, std::string help) {
  Entry& entry = add(std::move(name), std::move(help));
  entry.histogram = std::make_unique<Histogram>();
  return *entry.histogram;
}

std::string MetricRegistry::prometheus_text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& entry : entries_) {
    const char* type = entry->counter ? "counter" : entry->gauge ? "gauge" : "summary";
    out += "# HELP " + entry->name + " " + escaped(entry->help) + "\n# TYPE " + entry->name + " " +
           type + "\n";
    if (entry->counter) out += entry->name + " " + std::to_string(entry->counter->value()) + "\n";
    if (entry->gauge) out += entry->name + " " + std::to_string(entry->gauge->value()) + "\n";
    if (const Histogram* h = entry->histogram.get()) {
      out += entry->name + "{quantile=\"0.5\"} " + std::to_string(h->quantile(0.5)) + "\n";
      out += entry->name + "{quantile=\"0.99\"} " + std::to_string(h->quantile(0.99)) + "\n";
      out += entry->name + "{quantile=\"1\"} " + std::to_string(h->max()) + "\n";
      out += entry->name + "_sum " + std::to_string(h->sum()) + "\n";
      out += entry->name + "_count " + std::to_string(h->count()) + "\n";
    }
  }
  return out;
}

}  // namespace cairn

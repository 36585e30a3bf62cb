// Metrics: quantiles within their promise, and the text that a scraper reads.
#include "engine/base/metrics.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "engine/base/random.h"

namespace cairn {
namespace {

TEST(Histogram, GivesQuantilesWithinAnEighth) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 100'000; ++value) histogram.record(value);
  for (const double q : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = q * 100'000;
    EXPECT_GE(static_cast<double>(histogram.quantile(q)), exact * 0.999) << q;
    EXPECT_LE(static_cast<double>(histogram.quantile(q)), exact * 1.126) << q;
  }
  EXPECT_EQ(histogram.quantile(1.0), 100'000u);
  EXPECT_EQ(histogram.count(), 100'000u);
}

TEST(Histogram, TakesTheSmallestAndTheLargestValue) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  histogram.record(0);
  histogram.record(UINT64_MAX);
  EXPECT_EQ(histogram.quantile(0.25), 0u);
  EXPECT_EQ(histogram.quantile(1.0), UINT64_MAX);
}

TEST(MetricRegistry, WritesWhatAScraperReads) {
  MetricRegistry registry;
  registry.counter("cairn_puts_total", "Fragments put.").add(3);
  registry.gauge("cairn_free_bytes", "Free space.").set(-1);
  registry.histogram("cairn_put_us", "Time of a put.").record(5);
  registry.counter("cairn_odd_total", "Two\nlines and a \\.");
  const std::string text = registry.prometheus_text();
  EXPECT_NE(text.find("# TYPE cairn_puts_total counter\ncairn_puts_total 3\n"), std::string::npos);
  EXPECT_NE(text.find("cairn_free_bytes -1\n"), std::string::npos);
  EXPECT_NE(text.find("cairn_put_us{quantile=\"0.99\"} 5\n"), std::string::npos);
  EXPECT_NE(text.find("cairn_put_us{quantile=\"1\"} 5\n"), std::string::npos);
  EXPECT_NE(text.find("# HELP cairn_odd_total Two\\nlines and a \\\\.\n"), std::string::npos);
}

TEST(MetricRegistryDeathTest, AbortsWhenANameIsTakenTwice) {
  MetricRegistry registry;
  registry.counter("cairn_x", "X.");
  EXPECT_DEATH(registry.gauge("cairn_x", "X."), "check failed");
}

TEST(MetricRegistryDeathTest, AbortsOnANameThatIsNotOurs) {
  MetricRegistry registry;
  EXPECT_DEATH(registry.counter("puts", "X."), "check failed");
  EXPECT_DEATH(registry.counter("cairn_puts{x}", "X."), "check failed");
}

TEST(Histogram, LosesNothingToWritersAtOnce) {
  Histogram histogram;
  std::vector<std::thread> writers;
  for (std::uint64_t w = 1; w <= 4; ++w) {
    writers.emplace_back([&histogram, w] {
      for (std::uint64_t i = 0; i < 10'000; ++i) histogram.record(w);
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(histogram.count(), 40'000u);
  EXPECT_EQ(histogram.sum(), 100'000u);
  EXPECT_EQ(histogram.max(), 4u);
  EXPECT_EQ(histogram.quantile(0.5), 2u);
}

}  // namespace
}  // namespace cairn

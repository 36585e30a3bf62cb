// Keys and values of the index: round trips, order, and refusal of malformed bytes.
#include "engine/store/index_format.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/limits.h"
#include "engine/base/random.h"

namespace cairn::store {
namespace {

FragmentName random_name(SplitMix64& random) {
  return {{random.next() >> random.below(64), random.next() >> random.below(64)},
          static_cast<std::uint8_t>(random.next()),
          {static_cast<std::uint32_t>(random.next())}};
}

template <class T>
Code code_of(const Result<T>& result) {
  return result ? Code::kOk : result.error().code();
}

TEST(IndexFormat, OrdersKeysAsTheNamesAreOrdered) {
  SplitMix64 random(3);
  for (int i = 0; i < 10'000; ++i) {
    const FragmentName a = random_name(random), b = random_name(random);
    EXPECT_EQ(a < b, fragment_key(a) < fragment_key(b)) << to_string(a) << ' ' << to_string(b);
    const auto back = parse_fragment_key(fragment_key(a));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, a);
  }
}

TEST(IndexFormat, BringsRecordsBack) {
  const FragmentRecord fragment{FragmentState::kSuspect, {{9}, 8192, 12288}, 4096, 77};
  const auto fragment_back = decode_fragment_record(encode(fragment));
  ASSERT_TRUE(fragment_back.has_value());
  EXPECT_EQ(*fragment_back, fragment);

  const SegmentRecord segment{12, 345};
  const auto segment_back = decode_segment_record(encode(segment));
  ASSERT_TRUE(segment_back.has_value());
  EXPECT_EQ(*segment_back, segment);

  const ScanMark mark{5, {9}, {{{8}, 100}, {{9}, 0}}};
  const auto mark_back = decode_scan_mark(encode(mark));
  ASSERT_TRUE(mark_back.has_value());
  EXPECT_EQ(*mark_back, mark);

  const Extent dead{{4}, 4096, 8192};
  const auto dead_back = parse_dead(dead_key(dead), encode_dead(dead));
  ASSERT_TRUE(dead_back.has_value());
  EXPECT_EQ(*dead_back, dead);
}

TEST(IndexFormat, RefusesEveryWrongLength) {
  const std::string values[] = {
      encode(FragmentRecord{FragmentState::kLive, {{1}, 0, 8192}, 4096, 1}),
      encode(SegmentRecord{1, 2}), encode(ScanMark{1, {2}, {{{1}, 2}}})};
  for (std::size_t cut = 1; cut < values[0].size(); ++cut) {
    EXPECT_EQ(code_of(decode_fragment_record(values[0].substr(0, cut))), Code::kCorrupt);
  }
  EXPECT_EQ(code_of(decode_fragment_record(values[0] + "x")), Code::kCorrupt);
  for (std::size_t cut = 1; cut < values[1].size(); ++cut) {
    EXPECT_EQ(code_of(decode_segment_record(values[1].substr(0, cut))), Code::kCorrupt);
  }
  for (std::size_t cut = 1; cut < values[2].size(); ++cut) {
    EXPECT_EQ(code_of(decode_scan_mark(values[2].substr(0, cut))), Code::kCorrupt);
  }
  EXPECT_EQ(code_of(parse_fragment_key("short")), Code::kCorrupt);
}

TEST(IndexFormat, RefusesAMarkWithTooManySegmentsBeforeReadingThem) {
  ScanMark mark;
  for (std::uint64_t i = 0; i <= kOpenSegmentsMax; ++i) mark.open.push_back({{i}, 0});
  const auto decoded = decode_scan_mark(encode(mark));
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code(), Code::kCorrupt);
}

TEST(IndexFormat, NamesBothVersionsWhenItMeetsAnother) {
  std::string value = encode(SegmentRecord{1, 2});
  value[0] = 9;
  const auto decoded = decode_segment_record(value);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code(), Code::kUnsupported);
  EXPECT_NE(decoded.error().message().find("format 9"), std::string_view::npos);
}

}  // namespace
}  // namespace cairn::store

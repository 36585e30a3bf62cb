// Names as people type and read them, and fixed-width integers.
#include "engine/base/ids.h"

#include <gtest/gtest.h>

#include "engine/base/bytes.h"
#include "engine/base/random.h"
#include "engine/base/units.h"

namespace cairn {
namespace {

TEST(FragmentName, ComesBackFromItsText) {
  SplitMix64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const FragmentName name{{random.next() >> random.below(64), random.next() >> random.below(64)},
                            static_cast<std::uint8_t>(random.next()),
                            {static_cast<std::uint32_t>(random.next())}};
    const auto back = parse_fragment_name(to_string(name));
    ASSERT_TRUE(back.has_value()) << to_string(name);
    EXPECT_EQ(*back, name);
  }
}

TEST(FragmentName, RefusesOtherTexts) {
  for (const char* text : {"", "1", "1.2", "1.2/3", "1.2/3.", "1.2/300.1", "x.2/3.4"}) {
    const auto name = parse_fragment_name(text);
    ASSERT_FALSE(name.has_value()) << text;
    EXPECT_EQ(name.error().code(), Code::kInvalid);
  }
}

TEST(Uuid, ComesBackFromItsText) {
  const auto uuid = parse_uuid("01234567-89ab-cdef-0123-456789abcdef");
  ASSERT_TRUE(uuid.has_value());
  EXPECT_EQ(to_string(*uuid), "01234567-89ab-cdef-0123-456789abcdef");
  for (const char* text : {"", "01234567", "01234567-89ab-cdef-0123-456789abcdeg",
                           "0123456789abcdef0123456789abcdef0123"}) {
    const auto bad = parse_uuid(text);
    ASSERT_FALSE(bad.has_value()) << text;
    EXPECT_NE(bad.error().message().find(text), std::string_view::npos);
  }
}

TEST(Units, RoundAndFormat) {
  EXPECT_EQ(round_up(1, kKiB), kKiB);
  EXPECT_EQ(round_up(kKiB, kKiB), kKiB);
  EXPECT_EQ(round_down(kKiB + 1, kKiB), kKiB);
  EXPECT_EQ(divide_up(7, 3), 3u);
  EXPECT_EQ(format_bytes(17), "17 B");
  EXPECT_EQ(format_bytes(3 * kGiB / 2), "1.5 GiB");
}

TEST(Units, ReadSizesAsPeopleTypeThem) {
  const struct {
    const char* text;
    std::uint64_t bytes;
  } sizes[] = {
      {"4096", 4096},     {"1GiB", kGiB},  {"1.5 GiB", 3 * kGiB / 2}, {"500GB", 500'000'000'000},
      {"64k", 64 * kKiB}, {"2M", 2 * kMiB}};
  for (const auto& [text, bytes] : sizes) {
    const auto read = parse_bytes(text);
    ASSERT_TRUE(read.has_value()) << read.error().to_string();
    EXPECT_EQ(*read, bytes) << text;
  }
  for (const char* text : {"", "GiB", "-1", "1 XiB", "1e30", "99999999999999999999", "1GiB2"}) {
    const auto read = parse_bytes(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code(), Code::kInvalid) << text;
  }
}

TEST(ByteReader, YieldsZerosAndNotOkPastTheEnd) {
  std::string bytes;
  append_le(bytes, std::uint32_t{0x01020304});
  append_be(bytes, std::uint16_t{0x0506});
  ByteReader in(as_bytes(bytes));
  EXPECT_EQ(in.le<std::uint32_t>(), 0x01020304u);
  EXPECT_EQ(in.be<std::uint16_t>(), 0x0506u);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.le<std::uint64_t>(), 0u);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace cairn

// Policies: spelling, defaults, narrowing, and the limits that follow from them.
#include "engine/layout/policy.h"

#include <gtest/gtest.h>

namespace cairn::layout {
namespace {

TEST(Policy, IsReadAsItIsPrinted) {
  for (const char* text :
       {"ec(2,1)", "ec(4,2)", "ec(8,2)", "ec(16,4)", "copies(1)", "copies(2)", "copies(4)"}) {
    const auto policy = parse_policy(text);
    ASSERT_TRUE(policy.has_value()) << text;
    EXPECT_EQ(to_string(*policy), text);
  }
  EXPECT_EQ(*parse_policy("ec(4,2)"), (Policy{4, 2}));
  EXPECT_EQ(*parse_policy("copies(3)"), (Policy{1, 2}));
}

TEST(Policy, RefusesOtherTextsAndSaysWhatIsAllowed) {
  for (const char* text : {"",
                           "ec",
                           "ec()",
                           "ec(4)",
                           "ec(4,2",
                           "ec(4,2))",
                           "ec(4,2,1)",
                           "ec(4, 2)",
                           "ec(04,2)",
                           "ec(1,2)",
                           "ec(17,2)",
                           "ec(4,0)",
                           "ec(4,5)",
                           "ec(-4,2)",
                           "ec(4,)",
                           "ec(,2)",
                           "EC(4,2)",
                           "copies()",
                           "copies(0)",
                           "copies(5)",
                           "copies(2,1)",
                           "copies(99999999999)",
                           "ec(4,2) "}) {
    const auto policy = parse_policy(text);
    ASSERT_FALSE(policy.has_value()) << text;
    EXPECT_EQ(policy.error().code(), Code::kInvalid) << text;
    EXPECT_NE(policy.error().message().find("ec(k,m)"), std::string_view::npos) << text;
  }
}

TEST(Policy, DefaultFollowsTheHealthyDomains) {
  const char* const expected[] = {"copies(1)", "copies(2)", "copies(2)", "ec(2,1)", "ec(2,1)",
                                  "ec(4,2)",   "ec(4,2)",   "ec(4,2)",   "ec(4,2)", "ec(4,2)",
                                  "ec(4,2)",   "ec(8,2)",   "ec(8,2)"};
  for (std::uint32_t domains = 1; domains <= std::size(expected); ++domains) {
    const auto policy = default_policy(domains);
    ASSERT_TRUE(policy.has_value());
    EXPECT_EQ(to_string(*policy), expected[domains - 1]) << domains;
    EXPECT_TRUE(check_fits(*policy, domains).ok()) << domains;
  }
  EXPECT_EQ(default_policy(0).error().code(), Code::kUnavailable);
}

TEST(Policy, TooWideForTheClusterIsRefusedWithBothNumbers) {
  EXPECT_TRUE(check_fits({8, 2}, 10).ok());
  const Status status = check_fits({8, 2}, 9);
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find("10 failure domains"), std::string_view::npos);
  EXPECT_NE(status.message().find("has 9"), std::string_view::npos);
}

TEST(Policy, NarrowsToWhatIsHealthyAndKeepsAllParity) {
  EXPECT_EQ(*narrow({4, 2}, 7), (Policy{4, 2}));
  EXPECT_EQ(*narrow({4, 2}, 6), (Policy{4, 2}));
  EXPECT_EQ(*narrow({4, 2}, 5), (Policy{3, 2}));
  EXPECT_EQ(*narrow({4, 2}, 4), (Policy{2, 2}));
  EXPECT_EQ(*narrow({4, 2}, 3), (Policy{1, 2}));
  EXPECT_EQ(narrow({4, 2}, 2).error().code(), Code::kUnavailable);
  EXPECT_EQ(narrow({4, 2}, 0).error().code(), Code::kUnavailable);
  EXPECT_EQ(narrow({1, 1}, 1).error().code(), Code::kUnavailable);
  EXPECT_EQ(*narrow({1, 0}, 1), (Policy{1, 0}));
  EXPECT_EQ(narrow({1, 0}, 0).error().code(), Code::kUnavailable);
}

TEST(Policy, LargestObjectsOfAllPoliciesAreLegalAndNoLargerOnesAre) {
  for (std::uint8_t k = 1; k <= kDataFragmentsMax; ++k) {
    for (std::uint8_t m = 0; m <= kParityFragmentsMax; ++m) {
      const Policy policy{k, m};
      const std::uint64_t bytes = object_bytes_max(policy);
      EXPECT_TRUE(validate(geometry_for(policy, bytes)).ok()) << to_string(policy);
      EXPECT_FALSE(validate(geometry_for(policy, bytes + 1)).ok()) << to_string(policy);
    }
  }
  EXPECT_EQ(object_bytes_max({4, 2}), kObjectBytesMax);
  EXPECT_EQ(object_bytes_max({1, 4}), 819 * kBlockBytes);
}

TEST(Policy, SmallObjectsAreCopies) {
  EXPECT_EQ(geometry_for({4, 2}, 32 * kKiB - 1).data, 1);
  EXPECT_EQ(geometry_for({4, 2}, 32 * kKiB - 1).parity, 2);
  EXPECT_EQ(geometry_for({4, 2}, 32 * kKiB).data, 4);
}

}  // namespace
}  // namespace cairn::layout

#include "models/policy/inline_rules.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

const InlineRules kTenBytes{10, {"video"}};

TEST(InlineRules, result_and_values_count_together) {
  EXPECT_TRUE(checkInline(std::nullopt, {}, kTenBytes));
  EXPECT_TRUE(checkInline("1234567890", {}, kTenBytes));
  const std::vector<InlineArtifact> values{{"text", 4, "/artifacts/0"}, {"", 4, "/artifacts/1"}};
  EXPECT_TRUE(checkInline("12", values, kTenBytes));
  const auto refused = checkInline("123", values, kTenBytes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInlineLimit);
  EXPECT_EQ(refused.error().detail,
            "the result and the values of artifacts have 11 bytes; inline_payload_limit_bytes "
            "allows 10");
}

TEST(InlineRules, forced_types_have_no_value_however_small) {
  const std::vector<InlineArtifact> values{
      {"text", 1, "/artifacts/0"}, {"video", 1, "/artifacts/2"}, {"video", 100, "/artifacts/3"}};
  const auto refused = checkInline(std::nullopt, values, kTenBytes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  ASSERT_EQ(refused.error().fields.size(), 2U);
  EXPECT_EQ(refused.error().fields[0].pointer, "/artifacts/2");
  EXPECT_EQ(refused.error().fields[0].code, "forced_reference");
  EXPECT_EQ(refused.error().fields[1].pointer, "/artifacts/3");
}

}  // namespace
}  // namespace muster

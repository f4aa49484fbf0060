#include "models/policy/byte_range.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

constexpr auto kWhole = ByteRange::Kind::kWhole;
constexpr auto kPart = ByteRange::Kind::kPart;
constexpr auto kNone = ByteRange::Kind::kNone;

TEST(ByteRange, is_chosen_as_the_header_asks) {
  struct Row {
    std::string header;
    std::int64_t size;
    ByteRange expected;
  };
  const Row rows[] = {
      {"", 10, {kWhole, 0, 10}},
      {"bytes=0-", 10, {kPart, 0, 10}},
      {"bytes=0-9", 10, {kPart, 0, 10}},
      {"bytes=0-0", 10, {kPart, 0, 1}},
      {"bytes=9-9", 10, {kPart, 9, 1}},
      {"bytes=3-5", 10, {kPart, 3, 3}},
      {"bytes= 3-5 ", 10, {kPart, 3, 3}},
      {"bytes=3-500", 10, {kPart, 3, 7}},
      {"bytes=3-99999999999999999999999", 10, {kPart, 3, 7}},
      {"bytes=-3", 10, {kPart, 7, 3}},
      {"bytes=-30", 10, {kPart, 0, 10}},
      {"bytes=-99999999999999999999999", 10, {kPart, 0, 10}},
      {"bytes=10-", 10, {kNone, 0, 0}},
      {"bytes=10-20", 10, {kNone, 0, 0}},
      {"bytes=99999999999999999999999-", 10, {kNone, 0, 0}},
      {"bytes=-0", 10, {kNone, 0, 0}},
      {"bytes=0-", 0, {kNone, 0, 0}},
      {"bytes=-5", 0, {kNone, 0, 0}},
      {"bytes=5-3", 10, {kWhole, 0, 10}},
      {"bytes=0-1,3-4", 10, {kWhole, 0, 10}},
      {"bytes=a-b", 10, {kWhole, 0, 10}},
      {"bytes=1-x", 10, {kWhole, 0, 10}},
      {"bytes=+1-2", 10, {kWhole, 0, 10}},
      {"bytes=--1", 10, {kWhole, 0, 10}},
      {"bytes=-", 10, {kWhole, 0, 10}},
      {"bytes=5", 10, {kWhole, 0, 10}},
      {"lines=0-1", 10, {kWhole, 0, 10}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(chooseRange(row.header, row.size), row.expected) << row.header << " of " << row.size;
  }
}

TEST(ByteRange, tags_are_compared_whole_and_weakly) {
  EXPECT_TRUE(namesTag(R"("a")", R"("a")"));
  EXPECT_TRUE(namesTag(R"("b", W/"a")", R"("a")"));
  EXPECT_TRUE(namesTag("*", R"("a")"));
  EXPECT_FALSE(namesTag(R"("ab")", R"("a")"));
  EXPECT_FALSE(namesTag("a", R"("a")"));
  EXPECT_FALSE(namesTag("", R"("a")"));
}

}  // namespace
}  // namespace muster

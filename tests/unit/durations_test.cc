#include "models/durations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace muster {
namespace {

Durations of(const std::vector<std::int64_t>& values) {
  Durations durations;
  for (const std::int64_t ms : values) durations.add(Millis(ms));
  return durations;
}

TEST(Durations, nearestRank) {
  struct Case {
    std::vector<std::int64_t> values;
    double share, expected;
  };
  std::vector<std::int64_t> hundred;
  for (int i = 1; i <= 20; ++i) hundred.push_back(i);
  const Case cases[] = {
      {{}, 0.95, 0},       {{7}, 0.95, 7},      {{7}, 0, 7},       {{1, 2}, 0.5, 1},
      {{1, 2}, 0.51, 2},   {{5, 1, 3}, 0.5, 3}, {{5, 1, 3}, 1, 5}, {hundred, 0.95, 19},
      {hundred, 0.96, 20}, {{0, 0, 63}, 1, 63}, {{-5}, 1, 0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(of(c.values).percentileMs(c.share), c.expected)
        << c.values.size() << " values, " << c.share;
  }
}

TEST(Durations, exactBelow128ThenWithinOnePercent) {
  for (std::int64_t ms = 0; ms < 128; ++ms) EXPECT_EQ(of({ms}).percentileMs(1), ms);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto ms = static_cast<std::int64_t>(std::exp(4 + 23.0 * i / 20'000)) +
                    static_cast<std::int64_t>(random() % 5);
    const double told = of({ms}).percentileMs(1);
    ASSERT_NEAR(told, static_cast<double>(ms), 0.01 * static_cast<double>(ms)) << ms;
  }
}

TEST(Durations, aLongerOneIsNeverToldAsShorter) {
  double before = -1;
  for (std::int64_t ms = 0; ms < 100'000; ++ms) {
    const double told = of({ms}).percentileMs(1);
    ASSERT_GE(told, before) << ms;
    before = told;
  }
}

TEST(Durations, whatIsTooLongIsTheLongest) {
  const double longest = of({std::numeric_limits<std::int64_t>::max()}).percentileMs(1);
  EXPECT_GT(longest, 30.0 * 365 * 24 * 3600 * 1000);
  EXPECT_EQ(Durations::decode(of({std::numeric_limits<std::int64_t>::max()}).encode()).count(), 1);
}

TEST(Durations, mergedAreAsIfSeenByOne) {
  std::mt19937_64 random(1);
  Durations all, left, right;
  for (int i = 0; i < 1000; ++i) {
    const Millis took(static_cast<std::int64_t>(random() % 50'000));
    all.add(took);
    (i % 3 == 0 ? left : right).add(took);
  }
  left.merge(right);
  EXPECT_EQ(left, all);
  left.merge({});
  EXPECT_EQ(left, all);
}

TEST(Durations, whatIsTakenBackWasNeverThere) {
  Durations all = of({10}), some;
  for (int i = 0; i < 50; ++i) some.add(Millis(90'000 + i));
  all.merge(some);
  EXPECT_GT(all.percentile(0.5), Millis(80'000));
  all.subtract(some);
  EXPECT_EQ(all.count(), 1);
  EXPECT_EQ(all.percentile(0.95), Millis(10));
}

TEST(Durations, textAndBack) {
  EXPECT_EQ(Durations().encode(), "");
  EXPECT_EQ(of({3, 3, 64}).encode(), "3:2,64:1");
  const Durations some = of({0, 1, 63, 64, 65, 1000, 1001, 86'400'000});
  EXPECT_EQ(Durations::decode(some.encode()), some);
}

TEST(Durations, whatIsNotSoWrittenIsLeftOut) {
  for (const char* text : {"", ",", ":", "1", "1:", ":1", "a:1", "1:b", "1:-3", "-1:1", "1:0",
                           "99999:1", "1:99999999999999999999", "1:2x", " 1:2"}) {
    EXPECT_EQ(Durations::decode(text), Durations()) << text;
  }
  EXPECT_EQ(Durations::decode("x,3:2,,64:1"), of({3, 3, 64}));
}

}  // namespace
}  // namespace muster

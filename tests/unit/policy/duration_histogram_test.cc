#include "models/policy/duration_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace muster {
namespace {

TEST(DurationHistogram, hasNothingToTellOfNothing) {
  EXPECT_EQ(DurationHistogram().quantile(0.5), Millis(0));
  EXPECT_EQ(DurationHistogram().count(), 0);
}

TEST(DurationHistogram, isExactForShortOnes) {
  DurationHistogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.add(Millis(i));
  EXPECT_EQ(histogram.quantile(0.5), Millis(50)) << "the nearest rank";
  EXPECT_EQ(histogram.quantile(0.95), Millis(95));
  EXPECT_EQ(histogram.quantile(0), Millis(1));
  EXPECT_EQ(histogram.quantile(1), Millis(100));
}

TEST(DurationHistogram, isWithinOnePercentOfAnything) {
  for (std::int64_t value = 1; value < (std::int64_t{1} << 40); value += 1 + value / 3) {
    DurationHistogram histogram;
    histogram.add(Millis(value));
    const double told = static_cast<double>(histogram.quantile(0.5).count());
    EXPECT_NEAR(told, static_cast<double>(value), static_cast<double>(value) * 0.01) << value;
  }
}

TEST(DurationHistogram, tellsTheQuantilesOfASortedList) {
  DurationHistogram histogram;
  std::vector<std::int64_t> values;
  std::uint64_t random = 7;
  for (int i = 0; i < 5000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    values.push_back(static_cast<std::int64_t>((random >> 40) % (1U << (i % 24))));
    histogram.add(Millis(values.back()));
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.95, 0.999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * 5000.0)) - 1;
    const auto exact = static_cast<double>(values[rank]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(share).count()), exact, exact * 0.01)
        << share;
  }
}

TEST(DurationHistogram, whatIsTakenBackWasNeverThere) {
  DurationHistogram all, some;
  all.add(Millis(10));
  for (int i = 0; i < 50; ++i) some.add(Millis(90'000 + i));
  all.add(some);
  EXPECT_EQ(all.count(), 51);
  EXPECT_GT(all.quantile(0.5), Millis(80'000));
  all.subtract(some);
  EXPECT_EQ(all.count(), 1);
  EXPECT_EQ(all.quantile(0.95), Millis(10));
}

TEST(DurationHistogram, takesWhatMakesNoSense) {
  DurationHistogram histogram;
  histogram.add(Millis(-5));
  EXPECT_EQ(histogram.quantile(1), Millis(0));
  histogram.add(Millis::max());
  EXPECT_GT(histogram.quantile(1), Millis(std::chrono::years(100)));
}

}  // namespace
}  // namespace muster

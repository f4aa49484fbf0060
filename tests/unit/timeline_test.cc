#include "models/timeline.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time kNoon = Time(Millis(1'800'000'000'000));  // a whole number of steps

TEST(TimelineSpan, coversWhatIsAskedForInWholeSteps) {
  struct Case {
    Time from, to;
    int buckets;
    TimelineSpan expected;
  };
  const Case cases[] = {
      {kNoon - 1h, kNoon, 60, {kNoon - 1h, kNoon, 60s}},
      {kNoon - 1h + 1s, kNoon + 1s, 60, {kNoon + 10s - 1h, kNoon + 10s, 60s}},
      {kNoon - 10s, kNoon, 1, {kNoon - 10s, kNoon, 10s}},
      {kNoon - 1ms, kNoon, 500, {kNoon - 10s, kNoon, 10s}},
      {kNoon - 25s, kNoon, 500, {kNoon - 30s, kNoon, 10s}},
      {kNoon - 25s, kNoon, 2, {kNoon - 40s, kNoon, 20s}},
      {kNoon - 61s, kNoon, 3, {kNoon - 90s, kNoon, 30s}},
      {kNoon + 3s, kNoon + 4s, 5, {kNoon, kNoon + 10s, 10s}},
  };
  for (const Case& c : cases) {
    const TimelineSpan span = timelineSpan(c.from, c.to, c.buckets);
    EXPECT_EQ(span, c.expected) << formatTime(span.from) << " " << formatTime(span.to) << " "
                                << span.bucket.count();
  }
}

TEST(TimelineSpan, neverHasMorePiecesThanAskedFor) {
  for (int buckets = 1; buckets <= 500; buckets += 7) {
    for (const Millis length : {1ms, 10'000ms, 10'001ms, 599'999ms, 3'600'000ms, 604'800'000ms}) {
      const TimelineSpan span = timelineSpan(kNoon + 3ms, kNoon + 3ms + length, buckets);
      EXPECT_LE((span.to - span.from) / span.bucket, buckets);
      EXPECT_LT(span.from, kNoon + 3ms + kLoadStep);
      EXPECT_GE(span.to - span.from, length);
      EXPECT_GE(span.to, kNoon + 3ms + length);
      EXPECT_EQ(span.bucket % kLoadStep, 0ms);
    }
  }
}

LoadStep step(Time at, std::int64_t added, std::optional<LoadGauges> gauges = {}) {
  LoadStep made{at, {}, gauges};
  made.counts.added = added;
  made.counts.waits.add(Millis(added));
  return made;
}

TEST(Timeline, countsOfABucketAreSummedUpOverStepsAndNodes) {
  const LoadStep steps[] = {step(kNoon, 1), step(kNoon, 2), step(kNoon + 10s, 4),
                            step(kNoon + 20s, 8)};
  const auto items = timeline({kNoon, kNoon + 60s, 20s}, steps, {});
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].counts.added, 7);
  EXPECT_EQ(items[0].counts.waits.percentileMs(1), 4);
  EXPECT_EQ(items[1].counts.added, 8);
  EXPECT_EQ(items[2].counts, LoadCounts());
  EXPECT_EQ(items[2].at, kNoon + 40s);
}

TEST(Timeline, gaugesStayAsTheyWereLastSeen) {
  const LoadStep steps[] = {step(kNoon + 20s, 0, LoadGauges{5, 1, 2, 1}),
                            step(kNoon + 30s, 0, LoadGauges{3, 2, 2, 2}),
                            step(kNoon + 60s, 0, LoadGauges{}), step(kNoon + 70s, 9)};
  const auto items = timeline({kNoon, kNoon + 100s, 20s}, steps, {7, 0, 1, 0});
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items[0].gauges, (LoadGauges{7, 0, 1, 0})) << "as before the span";
  EXPECT_EQ(items[0].peak_pending, 7);
  EXPECT_EQ(items[1].gauges, (LoadGauges{3, 2, 2, 2})) << "the last look";
  EXPECT_EQ(items[1].peak_pending, 5);
  EXPECT_EQ(items[2].gauges, (LoadGauges{3, 2, 2, 2})) << "nobody looked";
  EXPECT_EQ(items[2].peak_pending, 3);
  EXPECT_EQ(items[3].gauges, LoadGauges()) << "nothing was there any more";
  EXPECT_EQ(items[4].gauges, LoadGauges());
}

}  // namespace
}  // namespace muster

#include "models/policy/staleness.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr Time kNow{Millis(1'700'000'000'000)};

TEST(Staleness, exactlyAtTheThresholdIsStillFresh) {
  EXPECT_FALSE(isStale(kNow, Seconds(60), kNow));
  EXPECT_FALSE(isStale(kNow - Millis(59'999), Seconds(60), kNow));
  EXPECT_FALSE(isStale(kNow - Seconds(60), Seconds(60), kNow));
  EXPECT_TRUE(isStale(kNow - Millis(60'001), Seconds(60), kNow));
}

TEST(Staleness, aHeartbeatAheadOfTheClockIsFresh) {
  EXPECT_FALSE(isStale(kNow + Seconds(5), Millis(1), kNow));
}

TEST(Staleness, thresholdIsTwiceTheHeartbeatUnlessSet) {
  EXPECT_EQ(staleThreshold(Seconds(30)), Seconds(60));
}

}  // namespace
}  // namespace muster

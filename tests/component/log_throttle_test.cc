#include "app/log/log_throttle.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(LogThrottle, counts_what_it_leaves_out) {
  FakeClock clock;
  LogThrottle throttle(clock, 1);
  EXPECT_EQ(throttle.pass(), 0U);
  EXPECT_EQ(throttle.pass(), 0U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(throttle.pass(), std::nullopt);
  clock.advance(Seconds(1));
  EXPECT_EQ(throttle.pass(), 5U);
  EXPECT_EQ(throttle.pass(), std::nullopt);
}

}  // namespace
}  // namespace muster

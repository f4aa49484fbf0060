#include "models/policy/token_bucket.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(TokenBucket, lets_twice_the_rate_pass_in_a_burst_then_the_rate) {
  TokenBucket bucket(10);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(bucket.take(0s)) << i;
  EXPECT_EQ(bucket.take(0s), 1s);
  EXPECT_FALSE(bucket.take(100ms));
  EXPECT_TRUE(bucket.take(100ms));
}

TEST(TokenBucket, of_rate_zero_lets_everything_pass) {
  TokenBucket bucket(0);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(bucket.take(0s));
}

TEST(TokenBucket, of_a_slow_rate_lets_one_pass_at_a_time) {
  TokenBucket bucket(0.1);
  EXPECT_FALSE(bucket.take(0s));
  EXPECT_EQ(bucket.take(0s), 10s);
  EXPECT_FALSE(bucket.take(10s));
}

TEST(TokenBucket, more_than_the_burst_passes_when_full_and_is_paid_for_afterwards) {
  TokenBucket bucket(10);
  EXPECT_FALSE(bucket.take(0s, 50));
  EXPECT_TRUE(bucket.take(1s));
  EXPECT_FALSE(bucket.take(4s));
}

TEST(TokenBucket, a_clock_that_steps_back_gives_nothing_away) {
  TokenBucket bucket(1);
  EXPECT_FALSE(bucket.take(10s, 2));
  EXPECT_TRUE(bucket.take(5s));
}

}  // namespace
}  // namespace muster

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

TEST(TokenBucket, says_how_long_to_wait_without_taking) {
  TokenBucket bucket(10);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(bucket.wait(0s, 20));
  EXPECT_FALSE(bucket.take(0s, 20));
  EXPECT_EQ(bucket.wait(0s, 11), 2s);
}

TEST(TokenBucket, tells_its_level) {
  struct {
    double rate, taken;
    std::int64_t limit, remaining;
    std::chrono::seconds full_in;
  } const cases[] = {
      {10, 0, 20, 20, 0s}, {10, 1, 20, 19, 1s}, {10, 20, 20, 0, 2s},
      {10, 50, 20, 0, 5s},  // more than it holds: what is owed is not told as less than nothing
      {0.1, 1, 1, 0, 10s}, {0.1, 0, 1, 1, 0s},  {2.5, 0.5, 5, 4, 1s},
  };
  for (const auto& c : cases) {
    TokenBucket bucket(c.rate);
    EXPECT_FALSE(bucket.take(0s, c.taken));
    const auto level = bucket.level();
    EXPECT_EQ(level.limit, c.limit) << c.rate << " " << c.taken;
    EXPECT_EQ(level.remaining, c.remaining) << c.rate << " " << c.taken;
    EXPECT_EQ(level.full_in, c.full_in) << c.rate << " " << c.taken;
  }
}

}  // namespace
}  // namespace muster

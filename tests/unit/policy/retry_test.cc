#include "models/policy/retry.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

constexpr Time kNow{Millis(1'700'000'000'000)};
constexpr double kAlmostOne = 0x1.fffffffffffffp-1;

TEST(RetryDelay, doublesUpToTheCap) {
  const RetryPolicy policy{Millis(400), 0.0, Millis(60'000)};
  const std::pair<int, int> table[] = {{1, 400},    {2, 800},     {3, 1600},    {4, 3200},
                                       {5, 6400},   {6, 12'800},  {7, 25'600},  {8, 51'200},
                                       {9, 60'000}, {10, 60'000}, {63, 60'000}, {1000, 60'000}};
  for (const auto& [attempt, millis] : table) {
    for (const double dice : {0.0, 0.5, kAlmostOne}) {
      EXPECT_EQ(retryDelay(policy, attempt, dice), Millis(millis)) << attempt;
    }
  }
  EXPECT_EQ(retryDelay(policy, 0, 0.5), Millis(400)) << "never less than the base";
}

TEST(RetryDelay, staysWithinTheJitter) {
  const RetryPolicy policy{Millis(1000), 0.2, Millis(60'000)};
  EXPECT_EQ(retryDelay(policy, 1, 0.0), Millis(800));
  EXPECT_EQ(retryDelay(policy, 1, 0.25), Millis(900));
  EXPECT_EQ(retryDelay(policy, 1, 0.5), Millis(1000));
  EXPECT_EQ(retryDelay(policy, 1, kAlmostOne), Millis(1200));
  EXPECT_EQ(retryDelay(policy, 3, 0.0), Millis(3200));
  EXPECT_EQ(retryDelay(policy, 3, kAlmostOne), Millis(4800));
}

TEST(RetryDelay, jittersAroundTheCapToo) {
  const RetryPolicy policy{Millis(1000), 0.5, Millis(10'000)};
  EXPECT_EQ(retryDelay(policy, 30, 0.0), Millis(5000));
  EXPECT_EQ(retryDelay(policy, 30, kAlmostOne), Millis(15'000));
}

TEST(RetryDelay, isNeverNegative) {
  EXPECT_EQ(retryDelay({Millis(1000), 1.0, Millis(60'000)}, 1, 0.0), Millis(0));
  EXPECT_EQ(retryDelay({Millis(1000), 3.0, Millis(60'000)}, 1, 0.0), Millis(0));
}

TEST(RetryDelay, ofBaseZeroIsImmediate) {
  for (const int attempt : {1, 2, 50}) {
    EXPECT_EQ(retryDelay({Millis(0), 0.2, Millis(60'000)}, attempt, kAlmostOne), Millis(0));
  }
}

TEST(RetryDelay, ofCapZeroIsImmediateToo) {
  EXPECT_EQ(retryDelay({Millis(400), 0.2, Millis(0)}, 7, kAlmostOne), Millis(0));
}

TEST(RetryDelay, ofTheLargestPolicyAndAnyAttemptFits) {
  const Millis most(std::numeric_limits<std::int32_t>::max());
  for (const int attempt : {1, 31, 62, 63, 64, 1000, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(retryDelay({most, 0.0, most}, attempt, 0.5), most) << attempt;
    EXPECT_EQ(retryDelay({most, 1.0, most}, attempt, kAlmostOne), 2 * most) << attempt;
  }
  EXPECT_EQ(retryDelay({Millis(1), 0.0, most}, std::numeric_limits<int>::min(), 0.5), Millis(1));
}

TEST(RetryDelay, fillsTheWholeRangeOfTheJitterAndNoMore) {
  const RetryPolicy policy{Millis(10'000), 0.3, Millis(60'000)};
  for (int i = 0; i < 1000; ++i) {
    const Millis delay = retryDelay(policy, 1, i / 1000.0);
    EXPECT_EQ(delay, Millis(7000 + 6 * i)) << i;
  }
}

struct Failure {
  std::string_view what;
  int attempts;
  int max_retries;
  bool cancel_requested;
  FailureReport report;
  JobStatus status;
  int attempts_after;
  Millis wait;
};

FailureReport report(void (*change)(FailureReport&)) {
  FailureReport made;
  change(made);
  return made;
}

TEST(JudgeFailure, decidesByTheTable) {
  const FailureReport plain;
  const auto for_good = report([](FailureReport& r) { r.retryable = false; });
  const auto stopped = report([](FailureReport& r) { r.cancelled = true; });
  const auto later = report([](FailureReport& r) { r.retry_after = Seconds(30); });
  const auto free_of_charge = report([](FailureReport& r) { r.no_penalty = true; });
  const auto rate_limited =
      report([](FailureReport& r) { r.no_penalty = true, r.retry_after = Seconds(9); });
  const auto at_once = report([](FailureReport& r) { r.retry_after = Millis(0); });
  using enum JobStatus;
  const Failure table[] = {
      {"first of three", 1, 3, false, plain, kPending, 1, Millis(400)},
      {"second of three", 2, 3, false, plain, kPending, 2, Millis(800)},
      {"third of three", 3, 3, false, plain, kPoisoned, 3, Millis(0)},
      {"beyond the last", 4, 3, false, plain, kPoisoned, 4, Millis(0)},
      {"no retries at all", 1, 0, false, plain, kPoisoned, 1, Millis(0)},
      {"one try only", 1, 1, false, plain, kPoisoned, 1, Millis(0)},
      {"not retryable", 1, 3, false, for_good, kPoisoned, 1, Millis(0)},
      {"says when", 1, 3, false, later, kPending, 1, Seconds(30)},
      {"says at once", 1, 3, false, at_once, kPending, 1, Millis(0)},
      {"says when, but it was the last", 3, 3, false, later, kPoisoned, 3, Millis(0)},
      {"no penalty", 2, 3, false, free_of_charge, kPending, 1, Millis(800)},
      {"no penalty at the last", 3, 3, false, rate_limited, kPending, 2, Seconds(9)},
      {"no penalty without retries", 1, 0, false, rate_limited, kPending, 0, Seconds(9)},
      {"cancel was asked for", 1, 3, true, plain, kCancelled, 1, Millis(0)},
      {"cancel beats poison", 3, 3, true, for_good, kCancelled, 3, Millis(0)},
      {"cancel beats no penalty", 1, 3, true, rate_limited, kCancelled, 1, Millis(0)},
      {"stopped by the worker", 1, 3, false, stopped, kCancelled, 1, Millis(0)},
  };
  const RetryPolicy policy{Millis(400), 0.2, Millis(60'000)};
  for (const Failure& f : table) {
    const RetryVerdict verdict =
        judgeFailure(f.attempts, f.max_retries, f.cancel_requested, f.report, policy, 0.5, kNow);
    EXPECT_EQ(verdict.status, f.status) << f.what;
    EXPECT_EQ(verdict.attempts, f.attempts_after) << f.what;
    EXPECT_EQ(verdict.available_at, kNow + f.wait) << f.what;
  }
}

}  // namespace
}  // namespace muster

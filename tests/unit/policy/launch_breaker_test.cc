#include "models/policy/launch_breaker.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const Time kNow = fromMillis(1'700'000'000'000);

TEST(LaunchBreaker, aNewTemplateStartsWithTwoAndDoubles) {
  LaunchRecord record;
  EXPECT_EQ(launchAllowance(record, 0, 0, kNow), 2);
  EXPECT_EQ(launchAllowance(record, 2, 2, kNow), 0);
  EXPECT_EQ(launchAllowance(record, 3, 3, kNow), 0);
  record = afterSuccess(record);
  EXPECT_EQ(launchAllowance(record, 1, 1, kNow), 3);
  record = afterSuccess(record);
  EXPECT_EQ(launchAllowance(record, 0, 0, kNow), 8);
  record.successes = 10;
  EXPECT_EQ(launchAllowance(record, 0, 0, kNow), std::nullopt);
}

TEST(LaunchBreaker, whatHasProvedItselfStaysAsItIs) {
  LaunchRecord record;
  for (int i = 0; i < 10; ++i) record = afterSuccess(record);
  EXPECT_EQ(launchAllowance(record, 0, 0, kNow), std::nullopt);
  EXPECT_EQ(afterSuccess(record), record);
}

TEST(LaunchBreaker, aFailureWaitsAndThenProbesOneAtATime) {
  const LaunchRules rules;
  LaunchRecord record;
  record.successes = 10;
  record = afterFailure(record, rules, 0.5, kNow);
  EXPECT_EQ(record.retry_at, kNow + Seconds(1));
  EXPECT_EQ(launchState(record), "backing_off");
  EXPECT_EQ(launchAllowance(record, 0, 0, kNow), 0);
  EXPECT_EQ(launchAllowance(record, 0, 0, kNow + Seconds(1)), 1);
  EXPECT_EQ(launchAllowance(record, 0, 1, kNow + Seconds(1)), 0);
  EXPECT_EQ(launchAllowance(afterSuccess(record), 0, 0, kNow), std::nullopt);
}

TEST(LaunchBreaker, theDelayDoublesUpToItsCapWithinAFifth) {
  LaunchRules rules;
  rules.suspend_after = 1000;
  for (const auto& [failures, seconds] : {std::pair(0, 1), {1, 2}, {5, 32}, {9, 300}, {500, 300}}) {
    LaunchRecord record;
    record.failures = failures;
    const Millis delay = Seconds(seconds);
    EXPECT_EQ(afterFailure(record, rules, 0.5, kNow).retry_at, kNow + delay) << failures;
    EXPECT_EQ(afterFailure(record, rules, 0, kNow).retry_at, kNow + delay * 8 / 10) << failures;
    EXPECT_GT(afterFailure(record, rules, 0.999, kNow).retry_at, kNow + delay * 11 / 10);
  }
}

TEST(LaunchBreaker, tenInARowSuspendAndAProbeComesEveryQuarterOfAnHour) {
  LaunchRecord record;
  for (int i = 0; i < 10; ++i) record = afterFailure(record, {}, 0.5, kNow);
  EXPECT_EQ(launchState(record), "suspended");
  EXPECT_EQ(launchAllowance(record, 0, 0, kNow + std::chrono::minutes(14)), 0);
  EXPECT_EQ(launchAllowance(record, 0, 0, kNow + std::chrono::minutes(15)), 1);
  EXPECT_EQ(launchState(afterSuccess(record)), "ok");
}

}  // namespace
}  // namespace muster

#include "models/policy/webhook_retry.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Kind = DeliveryVerdict::Kind;

WebhookTry answered(int status, std::optional<Seconds> retry_after = {}) {
  WebhookTry made;
  made.status = status;
  made.retry_after = retry_after;
  return made;
}

TEST(WebhookRetry, triesByTheScheduleOfStandardWebhooks) {
  const std::vector<Millis> waits = {5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h};
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const auto verdict = judgeTry(static_cast<int>(i) + 1, answered(500), 5s, 0.5);
    EXPECT_EQ(verdict.kind, Kind::kRetried);
    EXPECT_EQ(verdict.wait, waits[i]) << "after try " << i + 1;
  }
  EXPECT_EQ(judgeTry(kMostTries, answered(500), 5s, 0.5).kind, Kind::kFailed);
}

TEST(WebhookRetry, judgesAnswers) {
  struct Row {
    WebhookTry made;
    Kind kind;
    Millis wait;
  };
  const std::vector<Row> rows = {
      {answered(200), Kind::kDelivered, 0s},
      {answered(204), Kind::kDelivered, 0s},
      {answered(299), Kind::kDelivered, 0s},
      {answered(301), Kind::kRetried, 5s},
      {answered(400), Kind::kRetried, 5s},
      {answered(410), Kind::kFailed, 0s},
      {WebhookTry{}, Kind::kRetried, 5s},
      {answered(429), Kind::kRetried, 5s},
      {answered(429, 60s), Kind::kRetried, 60s},
      {answered(503, 60s), Kind::kRetried, 60s},
      {answered(503, 1s), Kind::kRetried, 5s},
      {answered(503, -5s), Kind::kRetried, 5s},
      {answered(503, Seconds(72h)), Kind::kRetried, 24h},
      {answered(500, 60s), Kind::kRetried, 5s},
  };
  for (const Row& row : rows) {
    const auto verdict = judgeTry(1, row.made, 5s, 0.5);
    EXPECT_EQ(verdict.kind, row.kind) << row.made.status.value_or(0);
    EXPECT_EQ(verdict.wait, row.wait) << row.made.status.value_or(0);
  }
}

TEST(WebhookRetry, leavesATenthToChance) {
  EXPECT_EQ(judgeTry(1, answered(500), 5s, 0).wait, 4500ms);
  EXPECT_LT(judgeTry(1, answered(500), 5s, 0.999).wait, 5500ms);
  EXPECT_GT(judgeTry(1, answered(500), 5s, 0.999).wait, 5450ms);
  EXPECT_EQ(judgeTry(3, answered(500), 0s, 0.999).wait, 0s) << "no base, no wait";
}

TEST(WebhookRetry, leavesAReceiverThatFailsAlone) {
  const std::vector<Millis> pauses = {0s, 500ms, 1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s};
  for (std::size_t i = 0; i < pauses.size(); ++i) {
    EXPECT_EQ(pauseAfterFailures(static_cast<int>(i), answered(500), 5s), pauses[i]) << i;
  }
  EXPECT_EQ(pauseAfterFailures(1000, answered(500), 5s), 60s);
  EXPECT_EQ(pauseAfterFailures(1, answered(429, 90s), 5s), 90s) << "it asked for it";
  EXPECT_EQ(pauseAfterFailures(5, answered(500), 0s), 0s);
}

TEST(WebhookRetry, thereIsHopeForDaysOrForEver) {
  const Time now = fromMillis(1'700'000'000'000);
  EXPECT_EQ(hopelessSince(now, 120h), now - 120h);
  EXPECT_EQ(hopelessSince(now, 0h), std::nullopt);
}

}  // namespace
}  // namespace muster

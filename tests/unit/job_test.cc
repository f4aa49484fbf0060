#include "models/job.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

TEST(JobStatus, namesAreReadBack) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kJobStatuses; ++i) {
    const auto status = static_cast<JobStatus>(i);
    EXPECT_EQ(parseJobStatus(name(status)), status);
    names.insert(name(status));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"pending", "claimed", "done", "poisoned",
                                               "cancelled", "blocked"}));
}

TEST(JobStatus, isNothingElse) {
  for (const char* text : {"", "Pending", "PENDING", "pending ", "running", "lost"}) {
    EXPECT_FALSE(parseJobStatus(text)) << text;
  }
}

TEST(JobStatus, knowsWhatIsFinished) {
  EXPECT_FALSE(isFinished(JobStatus::kPending));
  EXPECT_FALSE(isFinished(JobStatus::kClaimed));
  EXPECT_FALSE(isFinished(JobStatus::kBlocked));
  EXPECT_TRUE(isFinished(JobStatus::kDone));
  EXPECT_TRUE(isFinished(JobStatus::kPoisoned));
  EXPECT_TRUE(isFinished(JobStatus::kCancelled));
}

TEST(NewJob, mustNotExpireBeforeItBegins) {
  constexpr Time kNow{Millis(1'700'000'000'000)};
  struct Case {
    std::string_view what;
    std::optional<int> expires_after_ms;
    int delay_ms;
    std::optional<int> available_after_ms;
    bool refused;
  };
  const Case cases[] = {
      {"never", std::nullopt, 60'000, std::nullopt, false},
      {"later", 1, 0, std::nullopt, false},
      {"now", 0, 0, std::nullopt, true},
      {"in the past", -1, 0, std::nullopt, true},
      {"as the delay ends", 5000, 5000, std::nullopt, true},
      {"after the delay", 5001, 5000, std::nullopt, false},
      {"before it is available", 5000, 0, 5001, true},
      {"after it is available", 5000, 0, 4999, false},
      {"in the past, available before that", -1, 0, -5000, true},
  };
  for (const Case& c : cases) {
    NewJob job{.data = "1"};
    job.delay = Millis(c.delay_ms);
    if (c.expires_after_ms) job.expires_at = kNow + Millis(*c.expires_after_ms);
    if (c.available_after_ms) job.available_at = kNow + Millis(*c.available_after_ms);
    EXPECT_EQ(expiresBeforeItBegins(job, kNow), c.refused) << c.what;
  }
}

}  // namespace
}  // namespace muster

#include "models/policy/floors.h"

#include <gtest/gtest.h>

#include "models/policy/cron.h"

namespace muster {
namespace {

Time at(std::string_view text) { return *parseTime(text); }

TEST(ScheduledFloor, isThatOfTheScheduleThatWasDueLast) {
  const std::vector<ScheduledFloor> office = {{"0 8 * * 1-5", "", 5}, {"0 18 * * *", "", 1}};
  struct Row {
    const char* now;
    std::int64_t floor;
  };
  // 2 March 2026 is a Monday.
  for (const Row& row : {Row{"2026-03-02T07:59:59Z", 1}, Row{"2026-03-02T08:00:00Z", 5},
                         Row{"2026-03-02T17:59:59Z", 5}, Row{"2026-03-02T18:00:00Z", 1},
                         Row{"2026-03-07T12:00:00Z", 1}, Row{"2026-03-09T12:00:00Z", 5}}) {
    EXPECT_EQ(scheduledFloor(office, at(row.now), {}), row.floor) << row.now;
  }
  EXPECT_EQ(scheduledFloor({}, at("2026-03-02T08:00:00Z"), {}), 0);
  const std::vector<ScheduledFloor> both = {{"0 8 * * *", "", 5}, {"0 8 * * *", "", 2}};
  EXPECT_EQ(scheduledFloor(both, at("2026-03-02T09:00:00Z"), {}), 2) << "the later in the list";
  const std::vector<ScheduledFloor> yearly = {{"0 0 1 1 *", "", 7}, {"nonsense", "", 9}};
  EXPECT_EQ(scheduledFloor(yearly, at("2026-12-31T23:59:00Z"), {}), 7);
}

TEST(ScheduledFloor, lastIncludesTheMomentItself) {
  const auto schedule = CronSchedule::parse(
      "*/5 * * * *", "", [](const std::string&) { return std::shared_ptr<const TimeZone>(); });
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->last(at("2026-03-02T08:05:00Z")), at("2026-03-02T08:05:00Z"));
  EXPECT_EQ(schedule->last(at("2026-03-02T08:04:59.999Z")), at("2026-03-02T08:00:00Z"));
}

TEST(PredictedFloor, keepsTheWorkersBusyThatTheSameHourKeptBusy) {
  struct Row {
    const char* name;
    std::vector<HourOfLoad> hours;
    std::int64_t slots, floor;
  };
  const auto hour = [](int added, int finished, int minutes) {
    return HourOfLoad{1, added, finished, std::chrono::minutes(minutes)};
  };
  const Row rows[] = {
      {"nothing on record", {}, 1, 0},
      {"jobs, but none finished", {hour(100, 0, 0)}, 1, 0},
      {"60 jobs of a minute fill one worker", {hour(60, 60, 60)}, 1, 1},
      {"61 do not fit", {hour(61, 61, 61)}, 1, 2},
      {"four at a time", {hour(240, 240, 240)}, 4, 1},
      {"the mean of two weeks", {hour(60, 60, 60), hour(180, 180, 180)}, 1, 2},
      {"a week without jobs counts", {hour(120, 120, 120), hour(0, 0, 0)}, 1, 1},
      {"what came, not what was done", {hour(600, 60, 60)}, 1, 10},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(predictedFloor(row.hours, row.slots), row.floor) << row.name;
  }
}

}  // namespace
}  // namespace muster

#include "models/policy/cron.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace muster {
namespace {

std::shared_ptr<const TimeZone> zoneOfThisMachine(const std::string& name) {
  std::ifstream file("/usr/share/zoneinfo/" + name, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto zone = TimeZone::parse(bytes);
  return zone ? *zone : nullptr;
}

Time at(const char* text) { return parseTime(text).value(); }

// The next times it is due, as long as `count` says.
std::vector<std::string> dueAfter(const std::string& expression, const char* after, int count,
                                  const std::string& zone = "") {
  const auto schedule = CronSchedule::parse(expression, zone, zoneOfThisMachine);
  if (!schedule) return {schedule.error().what};
  std::vector<std::string> times;
  Time from = at(after);
  while (count-- > 0) {
    const auto next = schedule->next(from);
    if (!next) break;
    EXPECT_GT(*next, from);
    times.push_back(formatTime(*next).substr(0, 16));
    from = *next;
  }
  return times;
}
using Times = std::vector<std::string>;

struct Due {
  const char* expression;
  const char* after;
  Times times;
};

TEST(Cron, tellsTheTimesOfAnExpression) {
  const Due table[] = {
      {"* * * * *", "2026-01-01T00:00:00Z", {"2026-01-01T00:01", "2026-01-01T00:02"}},
      {"* * * * *", "2026-01-01T00:00:59.999Z", {"2026-01-01T00:01"}},
      {"*/5 * * * *", "2026-01-01T00:52:00Z", {"2026-01-01T00:55", "2026-01-01T01:00"}},
      {"7/20 * * * *", "2026-01-01T00:00:00Z", {"2026-01-01T00:07", "2026-01-01T00:27"}},
      {"0 9-17/4 * * *", "2026-01-01T09:00:00Z", {"2026-01-01T13:00", "2026-01-01T17:00"}},
      {"30 6 * * 1-5", "2026-01-02T06:30:00Z", {"2026-01-05T06:30"}},  // Friday → Monday
      {"30 6 * * MON-fri", "2026-01-02T06:30:00Z", {"2026-01-05T06:30"}},
      {"0 0 * * 7", "2026-01-01T00:00:00Z", {"2026-01-04T00:00", "2026-01-11T00:00"}},
      {"0 0 * * 0", "2026-01-01T00:00:00Z", {"2026-01-04T00:00"}},
      {"0 0 * * fri-sun",
       "2026-01-01T00:00:00Z",
       {"2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00", "2026-01-09T00:00"}},
      {"0 0 1,15 jan,JUL *",
       "2026-01-02T00:00:00Z",
       {"2026-01-15T00:00", "2026-07-01T00:00", "2026-07-15T00:00", "2027-01-01T00:00"}},
      {"0 0 31 * *", "2026-01-31T00:00:00Z", {"2026-03-31T00:00", "2026-05-31T00:00"}},
      {"0 0 29 2 *", "2026-01-01T00:00:00Z", {"2028-02-29T00:00", "2032-02-29T00:00"}},
      {"0 0 29 2 *", "2096-03-01T00:00:00Z", {"2104-02-29T00:00"}},
      {"0 12 13 * 5",
       "2026-03-01T00:00:00Z",  // the 13th or a Friday
       {"2026-03-06T12:00", "2026-03-13T12:00", "2026-03-20T12:00"}},
      {"0 12 */2 * 5",
       "2026-03-01T13:00:00Z",  // a star is no restriction: both must fit
       {"2026-03-13T12:00", "2026-03-27T12:00"}},
      {"@hourly", "2026-01-01T00:30:00Z", {"2026-01-01T01:00", "2026-01-01T02:00"}},
      {"@daily", "2026-01-01T00:00:00Z", {"2026-01-02T00:00"}},
      {"@weekly", "2026-01-01T00:00:00Z", {"2026-01-04T00:00"}},
      {"@monthly", "2026-01-01T00:00:00Z", {"2026-02-01T00:00"}},
      {"@yearly", "2026-01-01T00:00:00Z", {"2027-01-01T00:00"}},
      {"  0\t3  * * *  ", "2026-01-01T00:00:00Z", {"2026-01-01T03:00"}},
  };
  for (const Due& row : table) {
    EXPECT_EQ(dueAfter(row.expression, row.after, static_cast<int>(row.times.size())), row.times)
        << row.expression;
  }
}

TEST(Cron, aTimeThatTheClocksLeaveOutFiresOnceAfterTheGap) {
  // Berlin: 2026-03-29 02:00 CET → 03:00 CEST, at 01:00 UTC.
  EXPECT_EQ(dueAfter("30 2 * * *", "2026-03-28T00:00:00Z", 3, "Europe/Berlin"),
            (Times{"2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"}));
  EXPECT_EQ(dueAfter("0,15,30 2 * * *", "2026-03-29T00:00:00Z", 2, "Europe/Berlin"),
            (Times{"2026-03-29T01:00", "2026-03-30T00:00"}))
      << "three times in the gap are one";
  EXPECT_EQ(dueAfter("30 2,3 * * *", "2026-03-29T00:00:00Z", 2, "Europe/Berlin"),
            (Times{"2026-03-29T01:00", "2026-03-29T01:30"}));
  // New York: 2026-03-08 02:00 EST → 03:00 EDT, at 07:00 UTC.
  EXPECT_EQ(dueAfter("30 2 * * *", "2026-03-07T12:00:00Z", 2, "America/New_York"),
            (Times{"2026-03-08T07:00", "2026-03-09T06:30"}));
  // Lord Howe moves by half an hour: 2026-10-04 02:00 → 02:30, at 2026-10-03 15:30 UTC.
  EXPECT_EQ(dueAfter("15 2 * * *", "2026-10-03T00:00:00Z", 2, "Australia/Lord_Howe"),
            (Times{"2026-10-03T15:30", "2026-10-04T15:15"}));
}

TEST(Cron, aTimeThatComesTwiceFiresAtTheFirst) {
  // Berlin: 2026-10-25 03:00 CEST → 02:00 CET, at 01:00 UTC.
  EXPECT_EQ(dueAfter("30 2 * * *", "2026-10-24T12:00:00Z", 2, "Europe/Berlin"),
            (Times{"2026-10-25T00:30", "2026-10-26T01:30"}));
  EXPECT_EQ(dueAfter("30 2 * * *", "2026-10-25T01:00:00Z", 1, "Europe/Berlin"),
            (Times{"2026-10-26T01:30"}))
      << "not again when asked between the two";
  // New York: 2026-11-01 02:00 EDT → 01:00 EST, at 06:00 UTC.
  EXPECT_EQ(dueAfter("30 1 * * *", "2026-10-31T12:00:00Z", 2, "America/New_York"),
            (Times{"2026-11-01T05:30", "2026-11-02T06:30"}));
}

TEST(Cron, aScheduleOfEveryHourGoesByElapsedTime) {
  EXPECT_EQ(
      dueAfter("30 * * * *", "2026-10-24T23:45:00Z", 4, "Europe/Berlin"),
      (Times{"2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30", "2026-10-25T03:30"}));
  EXPECT_EQ(dueAfter("30 * * * *", "2026-03-28T23:45:00Z", 3, "Europe/Berlin"),
            (Times{"2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T02:30"}));
  EXPECT_EQ(dueAfter("*/30 * * * sun", "2026-10-25T22:15:00Z", 2, "Europe/Berlin"),
            (Times{"2026-10-25T22:30", "2026-10-31T23:00"}))
      << "days are those of the zone";
}

TEST(Cron, theZoneMayStandInFrontOfTheExpression) {
  EXPECT_EQ(dueAfter("CRON_TZ=Asia/Kolkata 0 6 * * *", "2026-01-01T12:00:00Z", 1),
            (Times{"2026-01-02T00:30"}));
  EXPECT_EQ(dueAfter("TZ=Asia/Kolkata 0 6 * * *", "2026-01-01T12:00:00Z", 1, "Asia/Kolkata"),
            (Times{"2026-01-02T00:30"}));
  EXPECT_EQ(dueAfter("CRON_TZ=Asia/Kolkata 0 6 * * *", "2026-01-01T12:00:00Z", 1, "UTC"),
            (Times{"is another one than the schedule names"}));
}

TEST(Cron, refusesWhatCanNeverBeOrMeansNothing) {
  for (const char* expression : {"",
                                 "* * * *",
                                 "* * * * * *",
                                 "60 * * * *",
                                 "* 24 * * *",
                                 "* * 0 * *",
                                 "* * 32 * *",
                                 "* * * 13 *",
                                 "* * * * 8",
                                 "*/0 * * * *",
                                 "5-1 * * * *",
                                 "a * * * *",
                                 "1, * * * *",
                                 "1- * * * *",
                                 "-1 * * * *",
                                 "1/ * * * *",
                                 "* * * foo *",
                                 "* * * * monday",
                                 "0 0 30 2 *",
                                 "0 0 30,31 feb *",
                                 "0 0 31 4,6,9,11 *",
                                 "@reboot",
                                 "@hourly 5",
                                 "@",
                                 "CRON_TZ= * * * * *",
                                 "CRON_TZ=UTC",
                                 "99999 * * * *"}) {
    EXPECT_FALSE(CronSchedule::parse(expression, "", zoneOfThisMachine)) << expression;
  }
  EXPECT_TRUE(CronSchedule::parse("0 0 30 2 1", "", zoneOfThisMachine)) << "or on a Monday";
  const auto unknown = CronSchedule::parse("* * * * *", "Mars/Olympus", zoneOfThisMachine);
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().in_zone);
}

}  // namespace
}  // namespace muster

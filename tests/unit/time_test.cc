#include "models/time.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/clock.h"

namespace muster {
namespace {

struct Reading {
  std::string text;
  std::string as_utc;
};

TEST(ParseTime, takesAnyOffsetAndPrecision) {
  const std::vector<Reading> readings = {
      {"2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000Z"},
      {"2026-03-01t12:00:00z", "2026-03-01T12:00:00.000Z"},
      {"2026-03-01 12:00:00Z", "2026-03-01T12:00:00.000Z"},
      {"2026-03-01T12:00:00.25Z", "2026-03-01T12:00:00.250Z"},
      {"2026-03-01T12:00:00.1Z", "2026-03-01T12:00:00.100Z"},
      {"2026-03-01T12:00:00.123456789Z", "2026-03-01T12:00:00.123Z"},
      {"2026-03-01T12:00:00+00:00", "2026-03-01T12:00:00.000Z"},
      {"2026-03-01T12:00:00-00:00", "2026-03-01T12:00:00.000Z"},
      {"2026-03-01T00:30:00+01:00", "2026-02-28T23:30:00.000Z"},
      {"2026-12-31T23:30:00-05:45", "2027-01-01T05:15:00.000Z"},
      {"2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59.999Z"},
      {"2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"},
      {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"},
      {"9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"},
  };
  for (const auto& [text, as_utc] : readings) {
    const auto time = parseTime(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(formatTime(*time), as_utc) << text;
  }
}

TEST(ParseTime, refusesWhatIsNoTime) {
  const std::vector<std::string> faults = {
      "",
      "now",
      "2026",
      "2026-03-01",
      "2026-03-01T12:00:00",
      "2026-03-01T12:00Z",
      "2026-3-1T12:00:00Z",
      "2026-02-29T00:00:00Z",
      "2100-02-29T00:00:00Z",
      "2026-04-31T00:00:00Z",
      "2026-00-01T00:00:00Z",
      "2026-13-01T00:00:00Z",
      "2026-01-00T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T00:60:00Z",
      "2026-01-01T00:00:61Z",
      "2026-01-01T00:00:00.Z",
      "2026-01-01T00:00:00,5Z",
      "2026-01-01T00:00:00+0100",
      "2026-01-01T00:00:00+01",
      "2026-01-01T00:00:00+24:00",
      "2026-01-01T00:00:00+01:60",
      "2026-01-01T00:00:00+01.00",
      "2026-01-01T00:00:00ZZ",
      "2026-01-01T00:00:00Z ",
      " 2026-01-01T00:00:00Z",
      "2026/01/01T00:00:00Z",
      "2026-01-01X00:00:00Z",
      "+026-01-01T00:00:00Z",
      "1969-12-31T23:59:59Z",
      "1970-01-01T00:00:00+00:01",
      "9999-12-31T23:59:59-00:01",
      "1700000000",
      "20260301T120000Z",
  };
  for (const std::string& text : faults) EXPECT_FALSE(parseTime(text)) << text;
}

TEST(FormatTime, isReadBackAsTheSameTime) {
  for (const std::int64_t millis :
       {0LL, 1LL, 951'782'400'000LL, 1'709'164'799'999LL, 1'700'000'000'123LL}) {
    const Time time = fromMillis(millis);
    EXPECT_EQ(parseTime(formatTime(time)), time) << millis;
    EXPECT_EQ(toMillis(time), millis);
  }
}

TEST(FakeClock, standsStillUntilItIsMoved) {
  FakeClock clock(fromMillis(1000));
  EXPECT_EQ(clock.now(), clock.now());
  const auto before = clock.monotonic();
  clock.advance(Seconds(2));
  EXPECT_EQ(toMillis(clock.now()), 3000);
  EXPECT_EQ(clock.monotonic() - before, Seconds(2));
}

}  // namespace
}  // namespace muster

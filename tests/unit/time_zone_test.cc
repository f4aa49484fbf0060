#include "models/time_zone.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace muster {
namespace {

using namespace std::chrono;

std::string zoneFile(const std::string& name) {
  std::ifstream file("/usr/share/zoneinfo/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

sys_seconds utc(int y, unsigned m, unsigned d, int h = 0, int min = 0) {
  return sys_days(year(y) / month(m) / day(d)) + hours(h) + minutes(min);
}

TEST(TimeZone, knowsTheOffsetsOfItsFile) {
  struct Row {
    const char* zone;
    sys_seconds at;
    int minutes;
  };
  const Row table[] = {
      {"Europe/Berlin", utc(2026, 1, 15), 60},
      {"Europe/Berlin", utc(2026, 7, 15), 120},
      {"Europe/Berlin", utc(2026, 3, 29, 0, 59), 60},
      {"Europe/Berlin", utc(2026, 3, 29, 1), 120},
      {"Europe/Berlin", utc(2050, 7, 15), 120},
      {"Europe/Berlin", utc(2050, 11, 15), 60},
      {"America/New_York", utc(2026, 7, 15), -240},
      {"America/New_York", utc(2050, 3, 15), -240},
      {"America/New_York", utc(2050, 1, 15), -300},
      {"Australia/Lord_Howe", utc(2050, 1, 15), 660},
      {"Australia/Lord_Howe", utc(2026, 7, 15), 630},
      {"Asia/Kolkata", utc(2050, 7, 15), 330},
      {"America/Sao_Paulo", utc(2050, 1, 15), -180},
      {"UTC", utc(2026, 1, 1), 0},
  };
  for (const Row& row : table) {
    const auto zone = TimeZone::parse(zoneFile(row.zone));
    ASSERT_TRUE(zone) << row.zone << ": " << zone.error();
    EXPECT_EQ((*zone)->offsetAt(row.at), minutes(row.minutes)) << row.zone;
  }
}

TEST(TimeZone, aCutOrSpoiltFileIsRefused) {
  const std::string whole = zoneFile("Europe/Berlin");
  ASSERT_TRUE(TimeZone::parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(TimeZone::parse(std::string_view(whole).substr(0, size))) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string spoilt = whole;
    spoilt[at] = static_cast<char>(~spoilt[at]);
    (void)TimeZone::parse(spoilt);  // whatever it is, it is not read beyond its end
  }
}

TEST(PosixZone, readsEveryFormOfARule) {
  for (const char* rule :
       {"UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "IST-1GMT0,M10.5.0,M3.5.0/1",
        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "XXX3YYY,J60,J300/2:30:15", "XXX3YYY2,59/24,299"}) {
    EXPECT_TRUE(PosixZone::parse(rule)) << rule;
  }
  for (const char* rule : {"", "C", "CET", "CET-1CEST", "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3",
                           "CET-1CEST,M3.5.0", "<CET-1", "CET-1CEST,M3.5.0,M10.5.0/3x"}) {
    EXPECT_FALSE(PosixZone::parse(rule)) << rule;
  }
}

TEST(PosixZone, summerMayGoOverTheTurnOfTheYear) {
  const auto sydney = PosixZone::parse("AEST-10AEDT,M10.1.0,M4.1.0/3").value();
  EXPECT_EQ(sydney.offsetAt(utc(2050, 1, 1)), hours(11));
  EXPECT_EQ(sydney.offsetAt(utc(2050, 7, 1)), hours(10));
  EXPECT_EQ(sydney.offsetAt(utc(2050, 12, 31)), hours(11));
}

TEST(PosixZone, countsDaysWithAndWithoutTheLeapDay) {
  const auto julian = PosixZone::parse("XXX0YYY,J60/0,J300/0").value();  // always 1 March
  EXPECT_EQ(julian.offsetAt(utc(2028, 2, 29, 12)), hours(0));
  EXPECT_EQ(julian.offsetAt(utc(2028, 3, 1)), hours(1));
  const auto plain = PosixZone::parse("XXX0YYY,59/0,299/0").value();  // the 60th day
  EXPECT_EQ(plain.offsetAt(utc(2028, 2, 29)), hours(1));
  EXPECT_EQ(plain.offsetAt(utc(2027, 3, 1)), hours(1));
}

}  // namespace
}  // namespace muster

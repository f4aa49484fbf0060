#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "models/time.h"
#include "models/time_zone.h"

namespace muster {

// When a cron expression is due: five fields (minute, hour, day of month, month, day of week) with
// names, ranges, lists and steps, or @hourly and its like. When both days are restricted, either
// will do. The times are those of a zone's clocks:
//   A schedule that names hours: a time that does not exist on a day fires once, at the first
//   instant after the gap; a time that exists twice fires at the first.
//   A schedule of every hour goes by elapsed time: it neither makes up nor leaves out an hour.
class CronSchedule {
 public:
  struct Fault {
    bool in_zone = false;  // else in the expression
    std::string what;
  };
  // `timezone` is an IANA name; empty for UTC, or for the one in front of the expression
  // (CRON_TZ=Europe/Berlin 0 6 * * *).
  static tl::expected<CronSchedule, Fault> parse(std::string_view expression,
                                                 std::string_view timezone,
                                                 const ZoneLookup& zones);

  // The first time it is due strictly after `after`; nothing when there is none in ten years.
  std::optional<Time> next(Time after) const;
  // The last time it was due, `until` included; nothing when there is none in ten years.
  std::optional<Time> last(Time until) const;

 private:
  friend class CronReader;
  bool matchesDate(std::chrono::year_month_day date) const;
  bool everHappens() const;
  std::optional<std::chrono::sys_seconds> nextNamed(std::chrono::sys_seconds after) const;
  std::optional<std::chrono::sys_seconds> nextElapsed(std::chrono::sys_seconds after) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;  // 0 is Sunday
  bool any_day_ = true;
  bool any_weekday_ = true;
  std::shared_ptr<const TimeZone> zone_;
};

}  // namespace muster

#include "models/policy/cron.h"

#include <string>

#include "app/config/zone_files.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::test {
namespace {

// Three lines: the expression, the zone, and the time from which on it is asked.
const FuzzTarget kCron("cron", [](std::string_view bytes) {
  const std::string_view expression = takeLine(bytes);
  const std::string_view zone = takeLine(bytes);
  const Time after = parseTime(takeLine(bytes)).value_or(Time(Millis(1'767'225'600'000)));
  const auto schedule = CronSchedule::parse(expression, zone, findZone);
  if (!schedule) {
    mustHold(!schedule.error().what.empty(), "what is no schedule has a reason");
    return;
  }
  const auto before = schedule->last(after);
  mustHold(!before || *before <= after, "the last time is not in the future");
  const auto next = schedule->next(after);
  if (!next) return;
  mustHold(*next > after, "the next time is in the future");
  mustHold(schedule->last(*next) == next, "when it is next due, it was last due");
  const auto between = schedule->last(*next - Millis(1));
  mustHold(!between || *between <= after, "it is not due before the next time");
});

}  // namespace
}  // namespace muster::test

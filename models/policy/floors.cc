#include "models/policy/floors.h"

#include <algorithm>
#include <cmath>

#include "models/policy/cron.h"

namespace muster {
namespace {

std::shared_ptr<const TimeZone> noZone(const std::string&) { return nullptr; }

tl::expected<CronSchedule, CronSchedule::Fault> read(const ScheduledFloor& floor,
                                                     const ZoneLookup& zones) {
  return CronSchedule::parse(floor.cron, floor.timezone, zones ? zones : ZoneLookup(noZone));
}

}  // namespace

std::vector<FieldError> scheduleFaults(const std::vector<ScheduledFloor>& schedules,
                                       const ZoneLookup& zones) {
  std::vector<FieldError> faults;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const auto schedule = read(schedules[i], zones);
    if (schedule) continue;
    faults.push_back({"/scaling/schedules/" + std::to_string(i) +
                          (schedule.error().in_zone ? "/timezone" : "/cron"),
                      "invalid", schedule.error().what});
  }
  return faults;
}

std::int64_t scheduledFloor(const std::vector<ScheduledFloor>& schedules, Time now,
                            const ZoneLookup& zones) {
  std::int64_t floor = 0;
  std::optional<Time> latest;
  for (const ScheduledFloor& each : schedules) {
    const auto schedule = read(each, zones);
    const auto due = schedule ? schedule->last(now) : std::nullopt;
    if (!due || (latest && *due < *latest)) continue;
    latest = due;
    floor = each.min_workers;
  }
  return floor;
}

std::int64_t predictedFloor(const std::vector<HourOfLoad>& same_hours, std::int64_t slots) {
  double busy_hours = 0;  // of one slot
  for (const HourOfLoad& hour : same_hours) {
    if (hour.finished == 0) continue;
    const double each = std::chrono::duration<double, std::ratio<3600>>(hour.run_time).count() /
                        static_cast<double>(hour.finished);
    busy_hours += static_cast<double>(hour.added) * each;
  }
  if (busy_hours <= 0) return 0;
  const double workers = busy_hours / static_cast<double>(same_hours.size()) /
                         static_cast<double>(std::max<std::int64_t>(slots, 1));
  return static_cast<std::int64_t>(std::ceil(std::min(workers, 1e6)));
}

}  // namespace muster

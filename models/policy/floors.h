#pragma once

#include <cstdint>
#include <vector>

#include "models/load.h"
#include "models/pool.h"
#include "models/result.h"
#include "models/time_zone.h"

namespace muster {

// Every schedule that cannot be read, as a fault of /scaling/schedules.
std::vector<FieldError> scheduleFaults(const std::vector<ScheduledFloor>& schedules,
                                       const ZoneLookup& zones);

// The floor of the schedule that was due last; of two at the same time the later in the list. 0
// without any. Schedules that cannot be read are passed over.
std::int64_t scheduledFloor(const std::vector<ScheduledFloor>& schedules, Time now,
                            const ZoneLookup& zones);

// How many workers with so many slots the same hour of earlier weeks would have kept busy, on
// average over those weeks that are on record; 0 without any.
std::int64_t predictedFloor(const std::vector<HourOfLoad>& same_hours, std::int64_t slots);

}  // namespace muster

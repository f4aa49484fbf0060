#pragma once

#include <string>

#include "models/time.h"

namespace muster {

// "12s ago", "in 5m", "now"; two units at most ("3h 20m ago"), days when it is long.
std::string relativeTime(Time time, Time now);

// "340ms", "12s", "5m 10s", "3h 20m", "12d".
std::string durationText(Millis duration);

}  // namespace muster

#pragma once

#include <optional>

#include "models/time.h"

namespace muster {

// The silence after which a worker counts as lost: what was set, else twice the heartbeat interval.
inline Millis staleThreshold(std::optional<Millis> set, Millis heartbeat_interval) {
  return set.value_or(2 * heartbeat_interval);
}

// Strictly older than now − threshold: a heartbeat exactly at the edge is still fresh.
inline bool isStale(Time last_heartbeat, Millis threshold, Time now) {
  return last_heartbeat < now - threshold;
}

}  // namespace muster

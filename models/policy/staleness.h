#pragma once

#include "models/time.h"

namespace muster {

// The silence after which a worker counts as lost, where nothing else was set.
inline Millis staleThreshold(Millis heartbeat_interval) { return 2 * heartbeat_interval; }

// Strictly older than now − threshold: a heartbeat exactly at the edge is still fresh.
inline bool isStale(Time last_heartbeat, Millis threshold, Time now) {
  return last_heartbeat < now - threshold;
}

}  // namespace muster

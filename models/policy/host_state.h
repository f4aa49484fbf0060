#pragma once

#include <optional>

#include "models/host.h"
#include "models/time.h"

namespace muster {

struct HostPatience {
  Millis stale = Seconds(300);   // a sync counts for so long
  Millis grace = Seconds(3600);  // away for longer is lost
};

// What is known of a host.
struct HostSigns {
  bool has_worker = false;  // a live one
  bool has_node = false;    // a healthy one
  std::optional<Time> synced_at;
  std::optional<Time> away_since;  // as it was noted
};

HostState judgeHost(const HostSigns& signs, const HostPatience& patience, Time now);

}  // namespace muster

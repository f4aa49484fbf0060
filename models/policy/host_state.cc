#include "models/policy/host_state.h"

namespace muster {

std::string_view name(HostState state) {
  switch (state) {
    case HostState::kUp:
      return "up";
    case HostState::kAway:
      return "away";
    case HostState::kLost:
      return "lost";
  }
  return "";
}

HostState judgeHost(const HostSigns& signs, const HostPatience& patience, Time now) {
  if (signs.has_worker || signs.has_node) return HostState::kUp;
  if (signs.synced_at && *signs.synced_at >= now - patience.stale) return HostState::kUp;
  if (signs.away_since && *signs.away_since <= now - patience.grace) return HostState::kLost;
  return HostState::kAway;
}

}  // namespace muster

#include <fmt/format.h>

#include "app/config/settings_sources.h"
#include "app/config/zone_files.h"
#include "models/policy/floors.h"

namespace muster {
namespace {

void checkAccess(SettingsDraft& draft) {
  const Settings& settings = draft.settings;
  if (settings.listen.isLoopback() || settings.insecure || !settings.tokens.empty()) return;
  draft.addFault(draft.placeOf("listen"),
                 fmt::format("listen is {}, which other machines can reach: expected tokens in the "
                             "file (`muster token` makes one), or --insecure to serve everybody",
                             settings.listen.host));
}

void checkBuffers(SettingsDraft& draft) {
  const Settings& settings = draft.settings;
  if (settings.max_buffered_bytes >= settings.max_body_bytes) return;
  draft.addFault(draft.placeOf("max_buffered_bytes"),
                 fmt::format("max_buffered_bytes is {}, expected at least max_body_bytes, {}",
                             settings.max_buffered_bytes, settings.max_body_bytes));
}

void checkIntervals(SettingsDraft& draft) {
  Settings& settings = draft.settings;
  if (settings.stale_threshold && *settings.stale_threshold < settings.heartbeat_interval) {
    draft.addFault(
        draft.placeOf("stale_threshold_seconds"),
        fmt::format("stale_threshold_seconds is {}, expected at least "
                    "heartbeat_interval_seconds, {}",
                    settings.stale_threshold->count(), settings.heartbeat_interval.count()));
  }
  if (settings.lease <= settings.heartbeat_interval) {
    settings.warnings.push_back(
        "lease_seconds is not longer than heartbeat_interval_seconds: a claim can end before its "
        "worker renews it");
  }
}

void checkAbove(SettingsDraft& draft, std::string_view name, Seconds value, std::string_view floor,
                Seconds least) {
  if (value > least) return;
  draft.addFault(draft.placeOf(name), fmt::format("{} is {}, expected more than {}, {}", name,
                                                  value.count(), floor, least.count()));
}

void checkCluster(SettingsDraft& draft) {
  const Settings& settings = draft.settings;
  if (settings.cluster == ClusterMode::kOn && !inCluster(settings)) {
    draft.addFault(draft.placeOf("cluster"),
                   "cluster is on, which only a PostgreSQL store can serve: expected store to be "
                   "postgresql://…, or cluster to be auto or off");
  }
  if (!mayLead(settings.node_role) && !inCluster(settings)) {
    draft.addFault(draft.placeOf("node_role"),
                   fmt::format("node_role is {}, but this node is alone and has to lead: expected "
                               "auto, or a cluster on PostgreSQL",
                               name(settings.node_role)));
  }
  checkAbove(draft, "leader_lease_seconds", settings.leader_lease, "leader_renew_seconds twice",
             settings.leader_renew * 2);
  checkAbove(draft, "node_stale_seconds", settings.node_stale, "node_heartbeat_seconds",
             settings.node_heartbeat);
  checkAbove(draft, "node_dead_seconds", settings.node_dead, "node_stale_seconds",
             settings.node_stale);
}

// On the settings in force: two that agree in the file may not agree with a default.
void checkPools(SettingsDraft& draft) {
  const PoolSettings defaults = poolDefaults(draft.settings);
  for (const auto& [name, given] : draft.settings.pools) {
    const PlacesByPointer& places = draft.pool_places[name];
    if (const auto wrong = contradiction(inForce(defaults, given))) {
      draft.addFault(places.placeOf(wrong->first),
                     fmt::format("{} {}", wrong->first, wrong->second));
    }
    if (!given.schedules) continue;
    for (const FieldError& fault : scheduleFaults(*given.schedules, findZone)) {
      draft.addFault(places.placeOf(fault.pointer),
                     fmt::format("{} {}", fault.pointer, fault.detail));
    }
  }
}

}  // namespace

void checkSettings(SettingsDraft& draft) {
  checkAccess(draft);
  checkBuffers(draft);
  checkIntervals(draft);
  checkCluster(draft);
  checkPools(draft);
}

}  // namespace muster

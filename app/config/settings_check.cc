#include <fmt/format.h>

#include "app/config/settings_sources.h"
#include "app/config/zone_files.h"
#include "models/policy/floors.h"

namespace muster {
namespace {

void checkAccess(SettingsDraft& draft) {
  const Settings& settings = draft.settings;
  const bool asks = !settings.tokens.empty() || !settings.tls_clients.empty();
  if (settings.listen.isLoopback() || settings.insecure || asks) return;
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

void checkTls(SettingsDraft& draft) {
  Settings& settings = draft.settings;
  const bool on = !settings.tls_cert.empty();
  if (on == settings.tls_key.empty()) {
    const std::string_view given = on ? "tls_cert" : "tls_key";
    draft.addFault(draft.placeOf(given),
                   fmt::format("{} is set and {} is not: expected both, or none", given,
                               on ? "tls_key" : "tls_cert"));
  }
  if (!settings.tls_client_ca.empty() && !on) {
    draft.addFault(draft.placeOf("tls_client_ca"),
                   "tls_client_ca is set and tls_cert is not: callers show certificates over https "
                   "only, expected tls_cert and tls_key");
  }
  if (!settings.tls_clients.empty() && settings.tls_client_ca.empty()) {
    draft.addFault(draft.placeOf("tls_clients"),
                   "tls_clients are listed and tls_client_ca is not set: expected the file of the "
                   "authority that signs their certificates");
  }
  if (!settings.tls_client_ca.empty() && settings.tls_clients.empty()) {
    settings.warnings.push_back(
        "tls_client_ca is set, but no tls_clients say what its certificates allow");
  }
  if (!settings.listen.isLoopback() && !settings.tokens.empty() && !on) {
    settings.warnings.push_back(fmt::format(
        "listen is {}, and tls_cert is not set: tokens can be read on their way; set tls_cert and "
        "tls_key, or let only a proxy that speaks TLS reach this address",
        settings.listen.host));
  }
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

void checkWatermarks(SettingsDraft& draft) {
  const Settings& settings = draft.settings;
  if (settings.resource_low_watermark_pct < settings.resource_high_watermark_pct) return;
  draft.addFault(
      draft.placeOf("resource_low_watermark_pct"),
      fmt::format("resource_low_watermark_pct is {}, expected less than "
                  "resource_high_watermark_pct, {}",
                  settings.resource_low_watermark_pct, settings.resource_high_watermark_pct));
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
  checkTls(draft);
  checkIntervals(draft);
  checkCluster(draft);
  checkWatermarks(draft);
  checkPools(draft);
}

}  // namespace muster

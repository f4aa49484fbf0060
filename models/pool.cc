#include "models/pool.h"

#include <algorithm>

namespace muster {

PoolSettings PoolSettings::builtIn() {
  PoolSettings s;
  s.worker_mode = "once";
  s.paused = false;
  s.lease_seconds = 60;
  s.heartbeat_interval_seconds = 30;
  s.slots = 1;
  s.jobs_per_worker = 1;
  s.max_workers_per_host = 0;
  s.launch_backoff_base_seconds = 1;
  s.launch_backoff_cap_seconds = 300;
  s.launch_suspend_after = 10;
  s.payload_refs = false;
  s.strict_refs = false;
  s.scaling_mode = "queue";
  s.min_workers = 0;
  s.max_workers = 10;
  s.warm_idle = 0;
  s.target_p95_latency_ms = 2000;
  s.target_queue_depth = 50;
  s.scale_up_step = 2;
  s.scale_down_step = 1;
  s.scale_decision_interval_ms = 1500;
  s.latency_signal = "wait";
  s.predictive = false;
  s.max_retries = 3;
  s.retry_base_ms = 400;
  s.retry_jitter = 0.2;
  s.retry_cap_ms = 60'000;
  s.per_tenant_concurrency = 3;
  s.circuit_failures = 0;
  s.circuit_window_seconds = 300;
  s.circuit_probe_seconds = 30;
  s.circuit_probe_cap_seconds = 600;
  return s;
}

PoolSettings overlay(const PoolSettings& base, const PoolSettings& top) {
  PoolSettings merged = base;
  eachPoolField([&](std::string_view, std::string_view, auto member, const FieldRule&) {
    if (top.*member) merged.*member = top.*member;
  });
  return merged;
}

PoolSettings inForce(const PoolSettings& defaults, const PoolSettings& given) {
  PoolSettings base = defaults;
  const auto& mode = given.scaling_mode ? given.scaling_mode : defaults.scaling_mode;
  if (mode == "adaptive") {
    base.min_workers = defaults.adaptive_min_workers;
    base.max_workers = defaults.adaptive_max_workers;
    if (const auto preset = given.preset ? findPreset(*given.preset) : std::nullopt) {
      base.min_workers = preset->min_workers;
      base.max_workers = preset->max_workers;
      base.target_p95_latency_ms = preset->target_p95_latency_ms;
      base.target_queue_depth = preset->target_queue_depth;
      base.scale_up_step = preset->scale_up_step;
      base.scale_down_step = preset->scale_down_step;
      base.scale_decision_interval_ms = preset->interval.count();
    }
  }
  PoolSettings settings = overlay(base, given);
  // Whoever lowers only the maximum means no more than that.
  if (!given.min_workers)
    settings.min_workers = std::min(*settings.min_workers, *settings.max_workers);
  if (!settings.stale_threshold_seconds) {
    settings.stale_threshold_seconds =
        std::chrono::duration_cast<Seconds>(settings.staleAfter()).count();
  }
  return settings;
}

AdaptiveConfig adaptiveConfigOf(const PoolSettings& s) {
  return {*s.min_workers,
          *s.max_workers,
          *s.target_p95_latency_ms,
          *s.target_queue_depth,
          *s.scale_up_step,
          *s.scale_down_step,
          Millis(*s.scale_decision_interval_ms)};
}

bool keepsWorkers(const PoolSettings& s) {
  return s.scaling_mode != "queue" || *s.min_workers > 0 || *s.warm_idle > 0 || *s.predictive ||
         (s.schedules && !s.schedules->empty());
}

bool mayAddChildren(const Pool& pool, const PoolId& other) {
  const auto& allowed = pool.settings.child_pools;
  if (!allowed || allowed->empty()) return other == pool.id;
  return std::find(allowed->begin(), allowed->end(), other.str()) != allowed->end();
}

bool unsetField(PoolSettings& settings, std::string_view name) {
  bool found = false;
  eachPoolField([&](std::string_view group, std::string_view field, auto member, const FieldRule&) {
    const std::string full = (group.empty() ? "" : std::string(group) + ".") + std::string(field);
    if (full != name) return;
    (settings.*member).reset();
    found = true;
  });
  return found;
}

std::optional<std::pair<std::string, std::string>> contradiction(const PoolSettings& settings) {
  if (*settings.min_workers > *settings.max_workers) {
    return {{"/scaling/min_workers", "must not be above max_workers"}};
  }
  if (*settings.warm_idle > *settings.max_workers) {
    return {{"/scaling/warm_idle", "must not be above max_workers"}};
  }
  for (std::size_t i = 0; settings.schedules && i < settings.schedules->size(); ++i) {
    if ((*settings.schedules)[i].min_workers > *settings.max_workers) {
      return {{"/scaling/schedules/" + std::to_string(i) + "/min_workers",
               "must not be above max_workers"}};
    }
  }
  if (settings.stale_threshold_seconds &&
      *settings.stale_threshold_seconds < *settings.heartbeat_interval_seconds) {
    return {{"/stale_threshold_seconds", "must not be below heartbeat_interval_seconds"}};
  }
  return std::nullopt;
}

}  // namespace muster

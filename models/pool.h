#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ids.h"
#include "models/policy/adaptive.h"
#include "models/policy/retry.h"
#include "models/policy/staleness.h"
#include "models/policy/unplaceable.h"
#include "models/time.h"

namespace muster {

// From each time the schedule is due the pool keeps at least so many workers, until the next of its
// schedules is due.
struct ScheduledFloor {
  std::string cron;
  std::string timezone;  // IANA name, empty: UTC
  std::int64_t min_workers = 0;
  bool operator==(const ScheduledFloor&) const = default;
};

// The settings of a pool. In what a client sends and the store keeps, only what was set is
// present; inForce() fills in the service's defaults.
struct PoolSettings {
  std::optional<std::string> template_name;
  std::optional<std::string> worker_mode;
  std::optional<bool> paused;
  std::optional<std::int64_t> lease_seconds;
  std::optional<std::int64_t> heartbeat_interval_seconds;
  std::optional<std::int64_t> stale_threshold_seconds;  // unset: 2 × heartbeat interval
  std::optional<std::int64_t> slots;
  std::optional<std::int64_t> jobs_per_worker;
  std::optional<std::int64_t> max_workers_per_host;
  std::optional<std::int64_t> launch_backoff_base_seconds;
  std::optional<std::int64_t> launch_backoff_cap_seconds;
  std::optional<std::int64_t> launch_suspend_after;
  // Where workers of the pool may add children to their jobs; absent or empty: in the pool itself.
  std::optional<std::vector<std::string>> child_pools;
  // Refs are read out of `data` as well, and artifacts out of `result`.
  std::optional<bool> payload_refs;
  // What nobody registered cannot be referred to.
  std::optional<bool> strict_refs;

  std::optional<std::string> scaling_mode;
  std::optional<std::int64_t> min_workers;
  std::optional<std::int64_t> max_workers;
  std::optional<std::int64_t> warm_idle;
  std::optional<std::int64_t> target_workers;
  std::optional<std::string> preset;
  std::optional<double> target_p95_latency_ms;
  std::optional<std::int64_t> target_queue_depth;
  std::optional<std::int64_t> scale_up_step;
  std::optional<std::int64_t> scale_down_step;
  std::optional<std::int64_t> scale_decision_interval_ms;
  std::optional<std::string> latency_signal;
  std::optional<bool> predictive;
  std::optional<std::vector<ScheduledFloor>> schedules;

  std::optional<std::int64_t> max_retries;
  std::optional<std::int64_t> retry_base_ms;
  std::optional<double> retry_jitter;
  std::optional<std::int64_t> retry_cap_ms;

  std::optional<std::int64_t> per_tenant_concurrency;

  std::optional<std::int64_t> circuit_failures;  // 0: no circuit breaker
  std::optional<std::int64_t> circuit_window_seconds;
  std::optional<std::int64_t> circuit_probe_seconds;
  std::optional<std::int64_t> circuit_probe_cap_seconds;

  // Of the service's defaults alone: what holds for pools in adaptive mode that name no preset.
  std::int64_t adaptive_min_workers = 1;
  std::int64_t adaptive_max_workers = 12;

  bool operator==(const PoolSettings&) const = default;

  // The defaults of a service that nobody configured. Every field but the truly optional is set.
  static PoolSettings builtIn();

  // Meaningful only on settings in force.
  Millis lease() const { return Seconds(*lease_seconds); }
  Millis heartbeatInterval() const { return Seconds(*heartbeat_interval_seconds); }
  Millis staleAfter() const {
    return stale_threshold_seconds ? Seconds(*stale_threshold_seconds)
                                   : staleThreshold(heartbeatInterval());
  }
  RetryPolicy retryPolicy() const {
    return {Millis(*retry_base_ms), *retry_jitter, Millis(*retry_cap_ms)};
  }
};

// What a field of PoolSettings may hold.
struct FieldRule {
  double min = 0;
  double max = 0;
  std::vector<std::string> choices = {};
};

// The one list of the fields: calls visit(group, name, member, rule) for each. The group is the
// JSON object the field lives in ("" for the pool itself).
template <class Visitor>
void eachPoolField(Visitor visit) {
  using P = PoolSettings;
  constexpr double kDay = 86'400, kMany = 1'000'000,
                   kCount = std::numeric_limits<std::int32_t>::max();
  visit("", "template", &P::template_name, FieldRule{1, 128});
  visit("", "worker_mode", &P::worker_mode, FieldRule{0, 0, {"once", "loop"}});
  visit("", "paused", &P::paused, FieldRule{});
  visit("", "lease_seconds", &P::lease_seconds, FieldRule{1, kDay});
  visit("", "heartbeat_interval_seconds", &P::heartbeat_interval_seconds, FieldRule{1, kDay});
  visit("", "stale_threshold_seconds", &P::stale_threshold_seconds, FieldRule{1, kDay});
  visit("", "slots", &P::slots, FieldRule{1, 1000});
  visit("", "jobs_per_worker", &P::jobs_per_worker, FieldRule{1, kMany});
  visit("", "max_workers_per_host", &P::max_workers_per_host, FieldRule{0, kMany});
  visit("", "launch_backoff_base_seconds", &P::launch_backoff_base_seconds, FieldRule{0, kDay});
  visit("", "launch_backoff_cap_seconds", &P::launch_backoff_cap_seconds, FieldRule{0, kDay});
  visit("", "launch_suspend_after", &P::launch_suspend_after, FieldRule{1, kMany});
  visit("", "child_pools", &P::child_pools, FieldRule{0, 1000});
  visit("", "payload_refs", &P::payload_refs, FieldRule{});
  visit("", "strict_refs", &P::strict_refs, FieldRule{});
  visit("scaling", "mode", &P::scaling_mode, FieldRule{0, 0, {"queue", "target", "adaptive"}});
  visit("scaling", "min_workers", &P::min_workers, FieldRule{0, kMany});
  visit("scaling", "max_workers", &P::max_workers, FieldRule{0, kMany});
  visit("scaling", "warm_idle", &P::warm_idle, FieldRule{0, kMany});
  visit("scaling", "target_workers", &P::target_workers, FieldRule{0, kMany});
  visit("scaling", "preset", &P::preset,
        FieldRule{0, 0, {"low-latency", "high-throughput", "balanced", "cost-optimized"}});
  visit("scaling", "target_p95_latency_ms", &P::target_p95_latency_ms, FieldRule{0, kCount});
  visit("scaling", "target_queue_depth", &P::target_queue_depth, FieldRule{0, kCount});
  visit("scaling", "scale_up_step", &P::scale_up_step, FieldRule{0, kMany});
  visit("scaling", "scale_down_step", &P::scale_down_step, FieldRule{0, kMany});
  visit("scaling", "scale_decision_interval_ms", &P::scale_decision_interval_ms,
        FieldRule{0, kCount});
  visit("scaling", "latency_signal", &P::latency_signal, FieldRule{0, 0, {"wait", "run", "total"}});
  visit("scaling", "predictive", &P::predictive, FieldRule{});
  visit("scaling", "schedules", &P::schedules, FieldRule{0, kMany});
  visit("retry", "max_retries", &P::max_retries, FieldRule{0, 1000});
  visit("retry", "base_ms", &P::retry_base_ms, FieldRule{0, kCount});
  visit("retry", "jitter", &P::retry_jitter, FieldRule{0, 1});
  visit("retry", "cap_ms", &P::retry_cap_ms, FieldRule{0, kCount});
  visit("limits", "per_tenant_concurrency", &P::per_tenant_concurrency, FieldRule{1, kMany});
  visit("circuit", "failures", &P::circuit_failures, FieldRule{0, 1000});
  visit("circuit", "window_seconds", &P::circuit_window_seconds, FieldRule{1, kDay});
  visit("circuit", "probe_seconds", &P::circuit_probe_seconds, FieldRule{1, kDay});
  visit("circuit", "probe_cap_seconds", &P::circuit_probe_cap_seconds, FieldRule{1, kDay});
}

// The groups above, as JSON objects of the pool.
inline constexpr std::string_view kPoolGroups[] = {"scaling", "retry", "limits", "circuit"};

// What `top` sets, and `base` for the rest.
PoolSettings overlay(const PoolSettings& base, const PoolSettings& top);

// The settings of a pool that sets `given`, in a service with these defaults. In adaptive mode what
// is not given comes from the preset, if one is named.
PoolSettings inForce(const PoolSettings& defaults, const PoolSettings& given);

// What a pool in adaptive mode goes by.
AdaptiveConfig adaptiveConfigOf(const PoolSettings& in_force);

// Whether the pool wants workers also without jobs, so that they are not to leave by themselves
// when they are idle: the checker says when they are too many.
bool keepsWorkers(const PoolSettings& in_force);

// Takes back a setting by its name, like "template" or "scaling.max_workers", so that the default
// holds again; false when there is none of that name.
bool unsetField(PoolSettings& settings, std::string_view name);

// A rule that only two fields together can break, as (pointer, what is wrong); checked on the
// settings in force.
std::optional<std::pair<std::string, std::string>> contradiction(const PoolSettings& settings);

struct Pool {
  PoolId id;
  PoolSettings given;     // what was set
  PoolSettings settings;  // in force
  std::int64_t version = 1;
  Time created_at;
  Time updated_at;
};

// By child_pools: whether a worker of the pool may add children in the other one to its jobs.
bool mayAddChildren(const Pool& pool, const PoolId& other);

struct PoolStats {
  std::int64_t pending = 0, delayed = 0, runnable = 0, unplaceable = 0, claimed = 0, done = 0,
               poisoned = 0, cancelled = 0,
               blocked = 0;  // wait for other jobs of their flow; in none of the others
  std::vector<UnplaceableJobs> unplaceable_jobs;  // the largest groups of them, in that order
  std::int64_t elsewhere = 0;  // of the runnable, those that no worker launched here could claim
  std::int64_t pinned = 0;     // of the pending, those with a pin
  std::int64_t pinned_waiting = 0;  // of them, those whose holder cannot take one now
  std::map<std::string, std::int64_t> pinned_places;  // slots of workers that pinned jobs will take
  std::int64_t starting_workers = 0, active_workers = 0, busy_workers = 0, idle_workers = 0,
               terminating_workers = 0, lost_workers = 0;
  double oldest_pending_seconds = 0;
  double p95_wait_ms = 0;
};

}  // namespace muster

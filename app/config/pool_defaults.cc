#include "app/config/settings.h"

namespace muster {

PoolSettings poolDefaults(const Settings& settings) {
  PoolSettings pool = PoolSettings::builtIn();
  pool.worker_mode = settings.worker_mode;
  pool.lease_seconds = settings.lease.count();
  pool.heartbeat_interval_seconds = settings.heartbeat_interval.count();
  if (settings.stale_threshold) pool.stale_threshold_seconds = settings.stale_threshold->count();
  pool.max_workers = settings.max_workers;
  pool.adaptive_min_workers = settings.adaptive_min_workers;
  pool.adaptive_max_workers = settings.adaptive_max_workers;
  pool.max_retries = settings.max_retries;
  pool.retry_base_ms = settings.retry_base.count();
  pool.retry_jitter = settings.retry_jitter;
  pool.retry_cap_ms = settings.retry_cap.count();
  pool.target_p95_latency_ms = static_cast<double>(settings.target_p95_latency.count());
  pool.target_queue_depth = settings.target_queue_depth;
  pool.scale_up_step = settings.scale_up_step;
  pool.scale_down_step = settings.scale_down_step;
  pool.scale_decision_interval_ms = settings.scale_decision_interval.count();
  pool.per_tenant_concurrency = settings.per_tenant_max_concurrency;
  return pool;
}

}  // namespace muster

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/decision.h"
#include "models/event.h"
#include "models/pool.h"
#include "models/store/storage.h"
#include "models/time.h"

namespace muster {

// A distribution in fixed buckets of seconds. Thread-safe.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void observe(double seconds);
  void expose(std::string& out, std::string_view name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

// What happened since the service started, for /metrics in the Prometheus text format.
// Thread-safe.
class Metrics {
 public:
  Metrics();

  // The routes in the order of their numbers, as (method, pattern); before the first request.
  void setRoutes(std::vector<std::pair<std::string, std::string>> routes);

  static constexpr std::size_t kNoRoute = static_cast<std::size_t>(-1);
  void countRequest(std::size_t route, int status, double seconds);
  void countEvents(std::span<const Event> events);
  void countCheck(const Decision& decision, std::chrono::nanoseconds took);
  // `result` is started or failed: the process of a worker, not what became of it.
  void countLaunch(const std::string& pool, std::string_view result);
  // `reason` is one of exitReason().
  void countExit(const std::string& pool, std::string_view reason);
  void countCommits(const Storage::Commits& commits);
  void countTrigger(const std::string& trigger);
  // `result` is accepted, duplicate, ignored or rejected.
  void countHook(const std::string& trigger, std::string_view result);

  // `result` is delivered, retried or failed.
  void countWebhook(std::string_view result);
  void setPendingWebhooks(std::int64_t count) { pending_webhooks_ = count; }

  // The 95th percentile of the waits of the pool's claims in the last 300 s; 0 without any.
  double p95WaitMs(const std::string& pool, Time now);

  struct PoolGauges {
    std::string pool;
    PoolStats stats;
    std::int64_t min_workers, max_workers;
  };
  std::string expose(const std::vector<PoolGauges>& pools, bool leads) const;

 private:
  struct RouteCounters {
    std::string method, pattern;
    std::array<std::atomic<std::uint64_t>, 600> by_status{};
    Histogram seconds;
  };
  struct PoolCounters {
    std::uint64_t added = 0, claimed = 0, leases_expired = 0, late_reports = 0;
    std::map<std::string, std::uint64_t> finished;  // by outcome
    std::unique_ptr<Histogram> wait, run;
    std::deque<std::pair<Time, double>> recent_waits;
  };
  struct LaunchCounters {
    std::map<std::string, std::uint64_t, std::less<>> launches, exits;  // by result, by reason
    std::unique_ptr<Histogram> startup;
    std::optional<std::int64_t> desired;  // by the last check
  };
  LaunchCounters& launchCounters(const std::string& pool);
  void exposeLaunches(std::string& out) const;
  PoolCounters& poolCounters(const std::string& pool);

  std::vector<std::unique_ptr<RouteCounters>> routes_;  // the last one: no route
  mutable std::mutex mutex_;
  std::map<std::string, PoolCounters> pools_;       // guarded by mutex_
  std::map<std::string, LaunchCounters> launches_;  // by pool; guarded by mutex_
  Histogram check_seconds_;
  // By pool, trigger and direction; guarded by mutex_.
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> checks_;
  Storage::Commits commits_;                                                 // guarded by mutex_
  std::int64_t reaped_ = 0;                                                  // guarded by mutex_
  std::map<std::string, std::uint64_t> trigger_fires_;                       // guarded by mutex_
  std::map<std::pair<std::string, std::string>, std::uint64_t> hook_calls_;  // guarded by mutex_
  std::map<std::string, std::uint64_t, std::less<>> webhook_tries_;          // guarded by mutex_
  std::atomic<std::int64_t> pending_webhooks_ = 0;
};

}  // namespace muster

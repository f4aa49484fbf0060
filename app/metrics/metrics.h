#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "app/metrics/exposition.h"
#include "models/decision.h"
#include "models/event.h"
#include "models/operations/flows.h"
#include "models/operations/resources.h"
#include "models/pool.h"
#include "models/store/storage.h"
#include "models/time.h"

namespace muster {

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
  // As the store tells of them now.
  void setFlows(CountFlows::Reply flows);
  void setResources(CountResources::Reply resources);
  void countBlobRead(std::uint64_t bytes) { blob_bytes_read_ += bytes; }
  void countBlobWritten(std::uint64_t bytes) { blob_bytes_written_ += bytes; }
  void countTending(std::chrono::nanoseconds took);
  // It was deleted, here or by another node.
  void forgetPool(const std::string& pool);

  struct PoolGauges {
    std::string pool;
    PoolStats stats;
    std::int64_t min_workers, max_workers;
    // What the resources of its live workers take, as far as any of them said.
    std::optional<std::int64_t> resource_disk_bytes = {}, resource_mem_bytes = {};
  };
  // Of the pools it tells only what is in `pools`: all that there are now. The first kMostPools
  // have labels of their own, the others one together.
  static constexpr std::size_t kMostPools = 1000;
  std::string expose(const std::vector<PoolGauges>& pools, bool leads);

 private:
  struct RouteCounters {
    std::string method, pattern;
    std::array<std::atomic<std::uint64_t>, 600> by_status{};
    Histogram seconds;
  };
  using ByName = std::map<std::string, std::uint64_t, std::less<>>;
  struct PoolCounters {
    std::uint64_t added = 0, unblocked = 0, claimed = 0, leases_expired = 0, late_reports = 0;
    std::uint64_t done = 0, failed = 0, poisoned = 0, cancelled = 0;
    std::uint64_t cooldown_blocks = 0, launch_suspensions = 0, circuit_openings = 0;
    ByName launches, exits;               // by result, by reason
    std::optional<std::int64_t> desired;  // by the last check
    // By trigger and direction.
    std::map<std::pair<std::string, std::string>, std::uint64_t> checks;
    std::unique_ptr<Histogram> wait, run, startup;
    bool is_gone = false;  // its pool was not there when the metrics were last told

    void merge(const PoolCounters& other);
  };
  // A pool as it is told of: its label, and what was counted; null when nothing was yet.
  struct Told {
    std::string label;
    const PoolGauges* gauges;
    const PoolCounters* counters;
  };
  PoolCounters& poolCounters(const std::string& pool);
  static PoolCounters newCounters();
  // What the process still counts for pools that were deleted is not kept for ever.
  void forgetGone(const std::vector<PoolGauges>& pools);
  // All of these as one, and what was counted of them; to be told of together.
  std::pair<PoolGauges, PoolCounters> summed(std::span<const PoolGauges> pools) const;
  static void exposeGauges(Exposition& out, const std::vector<Told>& pools);
  static void exposeJobs(Exposition& out, const std::vector<Told>& pools);
  static void exposeWorkers(Exposition& out, const std::vector<Told>& pools);
  void exposeFlows(Exposition& out) const;
  void exposeResources(Exposition& out) const;
  void exposeTriggers(Exposition& out) const;
  void exposeRequests(Exposition& out) const;

  std::vector<std::unique_ptr<RouteCounters>> routes_;  // the last one: no route
  mutable std::mutex mutex_;
  std::map<std::string, PoolCounters> pools_;  // guarded by mutex_
  Histogram check_seconds_;
  Histogram flow_seconds_;
  Histogram pin_wait_seconds_;
  CountFlows::Reply flows_;                                                  // guarded by mutex_
  std::array<std::uint64_t, 3> flows_ended_{};                               // guarded by mutex_
  CountResources::Reply resources_;                                          // guarded by mutex_
  ByName evictions_;                                                         // guarded by mutex_
  std::uint64_t resources_lost_ = 0;                                         // guarded by mutex_
  std::chrono::nanoseconds tending_{};                                       // guarded by mutex_
  std::uint64_t tendings_ = 0;                                               // guarded by mutex_
  Storage::Commits commits_;                                                 // guarded by mutex_
  std::int64_t reaped_ = 0;                                                  // guarded by mutex_
  std::map<std::string, std::uint64_t> trigger_fires_;                       // guarded by mutex_
  std::map<std::pair<std::string, std::string>, std::uint64_t> hook_calls_;  // guarded by mutex_
  std::map<std::string, std::uint64_t, std::less<>> webhook_tries_;          // guarded by mutex_
  std::atomic<std::int64_t> pending_webhooks_ = 0;
  std::atomic<std::uint64_t> blob_bytes_read_ = 0;
  std::atomic<std::uint64_t> blob_bytes_written_ = 0;
};

}  // namespace muster

#include "app/metrics/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "models/json/json_doc.h"

namespace muster {
namespace {

const std::vector<double> kRequestBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                            0.25,   0.5,   1,      2.5,   5,    10,    30};
const std::vector<double> kJobBounds = {0.005, 0.01, 0.05, 0.1, 0.5, 1,    2.5,  5,
                                        10,    30,   60,   300, 900, 3600, 14400};
const std::vector<double> kFlowBounds = {0.1, 0.5, 1,   2.5,  5,     10,    30,
                                         60,  300, 900, 3600, 14400, 43200, 86400};
const std::vector<double> kStartupBounds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kFlowEnds = {
    {{event_type::kFlowSucceeded, "succeeded"},
     {event_type::kFlowFailed, "failed"},
     {event_type::kFlowCancelled, "cancelled"}}};
constexpr std::array kEvictionReasons = {
    resource_reason::kExpired,       resource_reason::kPressure, resource_reason::kReleased,
    resource_reason::kScopeReleased, resource_reason::kDeleted,  resource_reason::kReplaced,
    resource_reason::kUploadExpired};
constexpr std::array kHolderKinds = {Holder::Kind::kStore, Holder::Kind::kExternal,
                                     Holder::Kind::kHost, Holder::Kind::kWorker};
constexpr std::array kLivingStates = {ResourceState::kUploading, ResourceState::kActive,
                                      ResourceState::kStale, ResourceState::kEvicting};

constexpr std::string_view kOtherPools = "(other)";  // no pool can have this name

// A further label behind the first.
std::string withLabel(const std::string& labels, std::string_view name, std::string_view value) {
  return labels + "," + metricLabel(name, value);
}

// The member `reason` of what an event tells; empty: it has none.
std::string reasonIn(const std::string& details) {
  const auto doc = JsonDoc::parse(details);
  if (!doc || !doc->root().isObject()) return "";
  const JsonValue root = doc->root();
  for (auto member = root.begin(); !(member == root.end()); ++member) {
    if (member.key() == "reason") return (*member).string().value_or("");
  }
  return "";
}

}  // namespace

Metrics::Metrics()
    : check_seconds_(kRequestBounds), flow_seconds_(kFlowBounds), pin_wait_seconds_(kJobBounds) {}

void Metrics::setRoutes(std::vector<std::pair<std::string, std::string>> routes) {
  routes.emplace_back("", "(none)");
  for (auto& [method, pattern] : routes) {
    routes_.push_back(std::unique_ptr<RouteCounters>(
        new RouteCounters{std::move(method), std::move(pattern), {}, Histogram(kRequestBounds)}));
  }
}

void Metrics::countRequest(std::size_t route, int status, double seconds) {
  RouteCounters& counters = *(route == kNoRoute ? routes_.back() : routes_[route]);
  counters.by_status[static_cast<std::size_t>(std::clamp(status, 0, 599))].fetch_add(
      1, std::memory_order_relaxed);
  counters.seconds.observe(seconds);
}

Metrics::PoolCounters Metrics::newCounters() {
  PoolCounters counters;
  counters.wait = std::make_unique<Histogram>(kJobBounds);
  counters.run = std::make_unique<Histogram>(kJobBounds);
  counters.startup = std::make_unique<Histogram>(kStartupBounds);
  return counters;
}

Metrics::PoolCounters& Metrics::poolCounters(const std::string& pool) {
  const auto known = pools_.find(pool);
  return known != pools_.end() ? known->second : pools_.emplace(pool, newCounters()).first->second;
}

void Metrics::PoolCounters::merge(const PoolCounters& other) {
  for (auto member : {&PoolCounters::added, &PoolCounters::unblocked, &PoolCounters::claimed,
                      &PoolCounters::leases_expired, &PoolCounters::late_reports,
                      &PoolCounters::done, &PoolCounters::failed, &PoolCounters::poisoned,
                      &PoolCounters::cancelled, &PoolCounters::cooldown_blocks,
                      &PoolCounters::launch_suspensions, &PoolCounters::circuit_openings}) {
    this->*member += other.*member;
  }
  for (const auto& [result, count] : other.launches) launches[result] += count;
  for (const auto& [reason, count] : other.exits) exits[reason] += count;
  for (const auto& [labels, count] : other.checks) checks[labels] += count;
  if (other.desired) desired = desired.value_or(0) + *other.desired;
  wait->merge(*other.wait);
  run->merge(*other.run);
  startup->merge(*other.startup);
}

std::pair<Metrics::PoolGauges, Metrics::PoolCounters> Metrics::summed(
    std::span<const PoolGauges> pools) const {
  std::pair<PoolGauges, PoolCounters> sum(PoolGauges{"", {}, 0, 0}, newCounters());
  auto& [gauges, counters] = sum;
  for (const PoolGauges& pool : pools) {
    for (auto member :
         {&PoolStats::blocked, &PoolStats::pending, &PoolStats::claimed, &PoolStats::done,
          &PoolStats::poisoned, &PoolStats::cancelled, &PoolStats::starting_workers,
          &PoolStats::active_workers, &PoolStats::terminating_workers, &PoolStats::lost_workers,
          &PoolStats::busy_workers, &PoolStats::unplaceable, &PoolStats::pinned}) {
      gauges.stats.*member += pool.stats.*member;
    }
    gauges.stats.oldest_pending_seconds =
        std::max(gauges.stats.oldest_pending_seconds, pool.stats.oldest_pending_seconds);
    gauges.min_workers += pool.min_workers;
    gauges.max_workers += pool.max_workers;
    for (auto figure : {&PoolGauges::resource_disk_bytes, &PoolGauges::resource_mem_bytes}) {
      if (pool.*figure) gauges.*figure = (gauges.*figure).value_or(0) + *(pool.*figure);
    }
    if (const auto counted = pools_.find(pool.pool); counted != pools_.end()) {
      counters.merge(counted->second);
    }
  }
  return sum;
}

void Metrics::forgetGone(const std::vector<PoolGauges>& pools) {
  std::unordered_set<std::string_view> there;
  for (const PoolGauges& pool : pools) there.insert(pool.pool);
  for (auto at = pools_.begin(); at != pools_.end();) {
    // One that has just been made may not have been there when `pools` were read.
    const bool was_gone = std::exchange(at->second.is_gone, !there.contains(at->first));
    at = was_gone && at->second.is_gone ? pools_.erase(at) : std::next(at);
  }
}

void Metrics::forgetPool(const std::string& pool) {
  const std::lock_guard lock(mutex_);
  pools_.erase(pool);
}

void Metrics::countCheck(const Decision& decision, std::chrono::nanoseconds took) {
  check_seconds_.observe(std::chrono::duration<double>(took).count());
  const std::lock_guard lock(mutex_);
  PoolCounters& pool = poolCounters(decision.pool.str());
  ++pool.checks[{decision.trigger, decision.direction}];
  if (decision.binding_limit == "cooldown") ++pool.cooldown_blocks;
  pool.desired = decision.desired_workers;
}

void Metrics::countLaunch(const std::string& pool, std::string_view result) {
  const std::lock_guard lock(mutex_);
  ++poolCounters(pool).launches[std::string(result)];
}

void Metrics::countExit(const std::string& pool, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  ++poolCounters(pool).exits[std::string(reason)];
}

void Metrics::countEvents(std::span<const Event> events) {
  const std::lock_guard lock(mutex_);
  for (const Event& event : events) {
    const double took = std::chrono::duration<double>(event.took).count();
    if (event.type == event_type::kWorkerLost) ++reaped_;
    if (event.type == event_type::kPoolDeleted) pools_.erase(event.pool);
    if (event.type == event_type::kWorkerRegistered && event.took > Millis(0)) {
      poolCounters(event.pool).startup->observe(took);
    }
    if (event.type == event_type::kPoolLaunchSuspended) {
      ++poolCounters(event.pool).launch_suspensions;
    }
    if (event.type == event_type::kPoolCircuitOpened) ++poolCounters(event.pool).circuit_openings;
    for (std::size_t i = 0; i < kFlowEnds.size(); ++i) {
      if (event.type != kFlowEnds[i].first) continue;
      ++flows_ended_[i];
      flow_seconds_.observe(took);
    }
    if (event.type == event_type::kResourceLost) ++resources_lost_;
    if (event.type == event_type::kResourceEvicted) ++evictions_[reasonIn(event.details)];
    if (event.job.empty() || event.pool.empty()) continue;  // that of an artifact has no pool
    PoolCounters& pool = poolCounters(event.pool);
    const auto ended = [&](std::uint64_t& outcome) {
      ++outcome;
      if (event.attempt) pool.run->observe(took);
    };
    if (event.type == event_type::kJobCreated) {
      ++pool.added;
    } else if (event.type == event_type::kJobUnblocked) {
      ++pool.unblocked;
    } else if (event.type == event_type::kJobClaimed) {
      ++pool.claimed;
      pool.wait->observe(took);
      if (event.pinned) pin_wait_seconds_.observe(took);
    } else if (event.type == event_type::kJobCompleted) {
      ended(pool.done);
    } else if (event.type == event_type::kJobFailed) {
      ended(pool.failed);
    } else if (event.type == event_type::kJobPoisoned) {
      ended(pool.poisoned);
    } else if (event.type == event_type::kJobCancelled || event.type == event_type::kJobExpired) {
      ended(pool.cancelled);
    } else if (event.type == event_type::kJobReassigned) {
      ++pool.leases_expired;
    } else if (event.type == event_type::kJobLateResultDropped) {
      ++pool.late_reports;
    }
  }
}

void Metrics::setFlows(CountFlows::Reply flows) {
  const std::lock_guard lock(mutex_);
  flows_ = std::move(flows);
}

void Metrics::setResources(CountResources::Reply resources) {
  const std::lock_guard lock(mutex_);
  resources_ = std::move(resources);
}

void Metrics::countTending(std::chrono::nanoseconds took) {
  const std::lock_guard lock(mutex_);
  tending_ += took;
  ++tendings_;
}

void Metrics::countTrigger(const std::string& trigger) {
  const std::lock_guard lock(mutex_);
  ++trigger_fires_[trigger];
}

void Metrics::countHook(const std::string& trigger, std::string_view result) {
  const std::lock_guard lock(mutex_);
  ++hook_calls_[{trigger, std::string(result)}];
}

void Metrics::countWebhook(std::string_view result) {
  const std::lock_guard lock(mutex_);
  ++webhook_tries_[std::string(result)];
}

void Metrics::countCommits(const Storage::Commits& commits) {
  const std::lock_guard lock(mutex_);
  commits_.count += commits.count;
  commits_.units += commits.units;
  commits_.seconds += commits.seconds;
}

void Metrics::exposeGauges(Exposition& out, const std::vector<Told>& pools) {
  out.family("muster_pool_jobs", "gauge", "Jobs of a pool by status.");
  for (const Told& pool : pools) {
    const PoolStats& stats = pool.gauges->stats;
    out.sample(pool.label + ",status=\"blocked\"", stats.blocked);
    out.sample(pool.label + ",status=\"pending\"", stats.pending);
    out.sample(pool.label + ",status=\"claimed\"", stats.claimed);
    out.sample(pool.label + ",status=\"done\"", stats.done);
    out.sample(pool.label + ",status=\"poisoned\"", stats.poisoned);
    out.sample(pool.label + ",status=\"cancelled\"", stats.cancelled);
  }
  out.family("muster_workers", "gauge", "Workers of a pool by status.");
  for (const Told& pool : pools) {
    const PoolStats& stats = pool.gauges->stats;
    out.sample(pool.label + ",status=\"starting\"", stats.starting_workers);
    out.sample(pool.label + ",status=\"active\"", stats.active_workers);
    out.sample(pool.label + ",status=\"terminating\"", stats.terminating_workers);
    out.sample(pool.label + ",status=\"lost\"", stats.lost_workers);
  }
  const auto gauge = [&](std::string_view name, std::string_view help, const auto& of) {
    out.family(name, "gauge", help);
    for (const Told& pool : pools) out.sample(pool.label, of(*pool.gauges));
  };
  gauge("muster_pool_jobs_unplaceable", "Due jobs that no worker, alive or launched, can run.",
        [](const PoolGauges& pool) { return pool.stats.unplaceable; });
  gauge("muster_pool_jobs_pinned", "Pending jobs that only one worker or host may take.",
        [](const PoolGauges& pool) { return pool.stats.pinned; });
  gauge("muster_pool_oldest_pending_seconds", "Age of the oldest pending job.",
        [](const PoolGauges& pool) { return pool.stats.oldest_pending_seconds; });
  gauge("muster_pool_workers_busy", "Active workers that hold a job.",
        [](const PoolGauges& pool) { return pool.stats.busy_workers; });
  gauge("muster_pool_workers_min", "The least workers the pool keeps.",
        [](const PoolGauges& pool) { return pool.min_workers; });
  gauge("muster_pool_workers_max", "The most workers the pool may have.",
        [](const PoolGauges& pool) { return pool.max_workers; });
}

void Metrics::exposeJobs(Exposition& out, const std::vector<Told>& pools) {
  const PoolCounters none;
  const auto counter = [&](std::string_view name, std::string_view help,
                           std::uint64_t PoolCounters::*member) {
    out.family(name, "counter", help);
    for (const Told& pool : pools) {
      out.sample(pool.label, pool.counters == nullptr ? 0 : pool.counters->*member);
    }
  };
  counter("muster_jobs_added_total", "Jobs pushed.", &PoolCounters::added);
  counter("muster_jobs_unblocked_total", "Jobs of flows that waited for others, and no longer do.",
          &PoolCounters::unblocked);
  counter("muster_jobs_claimed_total", "Jobs claimed.", &PoolCounters::claimed);
  counter("muster_leases_expired_total", "Jobs taken back from a lapsed lease or a lost worker.",
          &PoolCounters::leases_expired);
  counter("muster_late_reports_total", "Reports refused because the lease had ended.",
          &PoolCounters::late_reports);
  counter("muster_scale_cooldown_blocks_total",
          "Checks that changed nothing because the last change was too recent.",
          &PoolCounters::cooldown_blocks);
  counter("muster_launch_suspensions_total", "How often launches failed until they were suspended.",
          &PoolCounters::launch_suspensions);
  counter("muster_circuit_openings_total", "How often the circuit breaker of a pool opened.",
          &PoolCounters::circuit_openings);
  out.family("muster_jobs_finished_total", "counter", "Tries that ended, by outcome.");
  for (const Told& pool : pools) {
    const PoolCounters& counts = pool.counters == nullptr ? none : *pool.counters;
    out.sample(pool.label + ",outcome=\"done\"", counts.done);
    out.sample(pool.label + ",outcome=\"failed\"", counts.failed);
    out.sample(pool.label + ",outcome=\"poisoned\"", counts.poisoned);
    out.sample(pool.label + ",outcome=\"cancelled\"", counts.cancelled);
  }
  out.family("muster_job_wait_seconds", "histogram", "From due to claimed.");
  for (const Told& pool : pools) {
    if (pool.counters != nullptr) pool.counters->wait->expose(out, pool.label);
  }
  out.family("muster_job_run_seconds", "histogram", "From claimed to reported.");
  for (const Told& pool : pools) {
    if (pool.counters != nullptr) pool.counters->run->expose(out, pool.label);
  }
}

void Metrics::exposeWorkers(Exposition& out, const std::vector<Told>& pools) {
  out.family("muster_pool_workers_desired", "gauge",
             "Workers the last check wanted the pool to have.");
  for (const Told& pool : pools) {
    if (pool.counters != nullptr && pool.counters->desired) {
      out.sample(pool.label, *pool.counters->desired);
    }
  }
  const auto named = [&](std::string_view name, std::string_view help, std::string_view label,
                         ByName PoolCounters::*member) {
    out.family(name, "counter", help);
    for (const Told& pool : pools) {
      if (pool.counters == nullptr) continue;
      for (const auto& [value, count] : pool.counters->*member) {
        out.sample(withLabel(pool.label, label, value), count);
      }
    }
  };
  named("muster_worker_launches_total", "Processes of workers, started or not.", "result",
        &PoolCounters::launches);
  named("muster_worker_exits_total", "Processes of workers that ended, by the reason.", "reason",
        &PoolCounters::exits);
  out.family("muster_worker_resource_bytes", "gauge",
             "What the resources of live workers take, as they said last.");
  for (const Told& pool : pools) {
    const auto expose = [&](std::string_view kind, const std::optional<std::int64_t>& bytes) {
      if (bytes) out.sample(withLabel(pool.label, "kind", kind), *bytes);
    };
    expose("disk", pool.gauges->resource_disk_bytes);
    expose("mem", pool.gauges->resource_mem_bytes);
  }
  out.family("muster_worker_startup_seconds", "histogram",
             "From the decision to the registration.");
  for (const Told& pool : pools) {
    if (pool.counters != nullptr) pool.counters->startup->expose(out, pool.label);
  }
  out.family("muster_checker_runs_total", "counter", "Checks of a pool, by what came of them.");
  for (const Told& pool : pools) {
    if (pool.counters == nullptr) continue;
    for (const auto& [labels, count] : pool.counters->checks) {
      out.sample(
          withLabel(withLabel(pool.label, "trigger", labels.first), "direction", labels.second),
          count);
    }
  }
}

void Metrics::exposeFlows(Exposition& out) const {
  out.family("muster_flows", "gauge", "Flows by status.");
  for (const FlowStatus status :
       {FlowStatus::kRunning, FlowStatus::kCancelling, FlowStatus::kSucceeded, FlowStatus::kFailed,
        FlowStatus::kCancelled}) {
    const auto found = std::find_if(flows_.by_status.begin(), flows_.by_status.end(),
                                    [&](const auto& entry) { return entry.first == name(status); });
    out.sample(metricLabel("status", name(status)),
               found == flows_.by_status.end() ? 0 : found->second);
  }
  out.family("muster_flow_unsettled", "gauge",
             "What ended jobs of flows have left to settle; about 0.");
  out.sample("", flows_.unsettled);
  out.family("muster_flows_ended_total", "counter", "Flows that ended, by outcome.");
  for (std::size_t i = 0; i < kFlowEnds.size(); ++i) {
    out.sample(metricLabel("outcome", kFlowEnds[i].second), flows_ended_[i]);
  }
  out.family("muster_flow_seconds", "histogram",
             "From the begin of a flow, or of its retry, to its end.");
  flow_seconds_.expose(out, "");
}

void Metrics::exposeResources(Exposition& out) const {
  const auto expose = [&](std::string_view metric, std::string_view help, auto figure) {
    out.family(metric, "gauge", help);
    for (const Holder::Kind kind : kHolderKinds) figure(name(kind));
  };
  const auto sum = [&](std::string_view holder, std::optional<ResourceState> state,
                       std::int64_t CountResources::Count::*figure) {
    std::int64_t total = 0;
    for (const CountResources::Count& entry : resources_.counts) {
      if (entry.holder == holder && (!state || entry.state == *state)) total += entry.*figure;
    }
    return total;
  };
  expose("muster_resources", "Resources that are not gone, by holder and state.",
         [&](std::string_view holder) {
           for (const ResourceState state : kLivingStates) {
             out.sample(withLabel(metricLabel("holder", holder), "state", name(state)),
                        sum(holder, state, &CountResources::Count::count));
           }
         });
  expose("muster_resource_bytes", "Bytes of resources that are not gone, by holder.",
         [&](std::string_view holder) {
           out.sample(metricLabel("holder", holder),
                      sum(holder, std::nullopt, &CountResources::Count::bytes));
         });
  out.family("muster_resource_evictions_total", "counter", "Resources that were evicted.");
  for (const std::string_view reason : kEvictionReasons) {
    const auto found = evictions_.find(reason);
    out.sample(metricLabel("reason", reason), found == evictions_.end() ? 0 : found->second);
  }
  out.family("muster_resources_lost_total", "counter", "Resources that went with their holder.");
  out.sample("", resources_lost_);
  out.family("muster_blob_bytes", "gauge", "Bytes of blobs in the folder of this node.");
  out.sample("", resources_.blob_bytes);
  out.family("muster_blob_bytes_max", "gauge", "Bytes of blobs that the folder may hold.");
  out.sample("", resources_.blob_bytes_max);
  out.family("muster_blob_read_bytes_total", "counter", "Bytes of content that were asked for.");
  out.sample("", blob_bytes_read_.load());
  out.family("muster_blob_written_bytes_total", "counter", "Bytes of content that were written.");
  out.sample("", blob_bytes_written_.load());
  out.family("muster_resource_gc_seconds", "summary", "Time to tend the folder of blobs.");
  out.suffixed("_sum", "", std::chrono::duration<double>(tending_).count());
  out.suffixed("_count", "", tendings_);
  out.family("muster_uploads_open", "gauge", "Uploads that are not complete.");
  out.sample("", resources_.uploads_open);
  out.family("muster_affinities", "gauge", "Keys that are bound to a holder, by state.");
  for (const AffinityState state :
       {AffinityState::kActive, AffinityState::kDraining, AffinityState::kStale}) {
    const auto found = std::find_if(resources_.affinities.begin(), resources_.affinities.end(),
                                    [&](const auto& entry) { return entry.first == state; });
    out.sample(metricLabel("state", name(state)),
               found == resources_.affinities.end() ? 0 : found->second);
  }
  out.family("muster_pin_wait_seconds", "histogram", "From due to claimed, of pinned jobs.");
  pin_wait_seconds_.expose(out, "");
}

void Metrics::exposeTriggers(Exposition& out) const {
  out.family("muster_trigger_fires_total", "counter", "Firings of triggers.");
  for (const auto& [trigger, count] : trigger_fires_) {
    out.sample(metricLabel("trigger", trigger), count);
  }
  out.family("muster_hooks_received_total", "counter",
             "Calls of webhooks, by what became of them.");
  for (const auto& [hook, count] : hook_calls_) {
    out.sample(withLabel(metricLabel("trigger", hook.first), "result", hook.second), count);
  }
}

void Metrics::exposeRequests(Exposition& out) const {
  out.family("muster_http_requests_total", "counter", "Requests answered.");
  for (const auto& route : routes_) {
    const std::string labels =
        withLabel(metricLabel("method", route->method), "route", route->pattern);
    for (std::size_t status = 0; status < route->by_status.size(); ++status) {
      const auto count = route->by_status[status].load(std::memory_order_relaxed);
      if (count > 0) out.sample(withLabel(labels, "code", std::to_string(status)), count);
    }
  }
  out.family("muster_http_request_duration_seconds", "histogram",
             "From the request to the answer.");
  for (const auto& route : routes_) {
    route->seconds.expose(out,
                          withLabel(metricLabel("method", route->method), "route", route->pattern));
  }
}

std::string Metrics::expose(const std::vector<PoolGauges>& pools, bool leads) {
  Exposition out;
  out.family("muster_build_info", "gauge", "The version that runs.");
  out.sample(metricLabel("version", MUSTER_VERSION), 1);
  out.family("muster_leader", "gauge", "1 on the node that leads, else 0.");
  out.sample("", leads ? 1 : 0);
  {
    const std::lock_guard lock(mutex_);
    forgetGone(pools);
    const auto all = std::span(pools);
    const auto own = all.first(std::min(all.size(), kMostPools));
    std::vector<Told> told;
    told.reserve(own.size() + 1);
    for (const PoolGauges& pool : own) {
      const auto counted = pools_.find(pool.pool);
      told.push_back({metricLabel("pool", pool.pool), &pool,
                      counted == pools_.end() ? nullptr : &counted->second});
    }
    std::pair<PoolGauges, PoolCounters> others;
    if (own.size() < all.size()) {
      others = summed(all.subspan(own.size()));
      told.push_back({metricLabel("pool", kOtherPools), &others.first, &others.second});
    }
    exposeGauges(out, told);
    exposeJobs(out, told);
    exposeWorkers(out, told);
    out.family("muster_reaper_workers_total", "counter", "Workers found lost.");
    out.sample("", reaped_);
    exposeFlows(out);
    exposeResources(out);
    exposeTriggers(out);
    out.family("muster_webhook_deliveries_total", "counter",
               "Calls of receivers of webhooks, by what became of them.");
    for (const auto& [result, count] : webhook_tries_) {
      out.sample(fmt::format("result=\"{}\"", result), count);
    }
    out.family("muster_webhook_deliveries_pending", "gauge",
               "Deliveries to webhooks still to be made.");
    out.sample("", pending_webhooks_.load());
    out.family("muster_store_commit_seconds", "summary", "Time of the commits of the store.");
    out.suffixed("_sum", "", commits_.seconds);
    out.suffixed("_count", "", commits_.count);
    out.family("muster_store_batch_size", "summary", "Units of work per commit.");
    out.suffixed("_sum", "", commits_.units);
    out.suffixed("_count", "", commits_.count);
  }
  out.family("muster_checker_duration_seconds", "histogram",
             "From the begin of a check to its commit.");
  check_seconds_.expose(out, "");
  exposeRequests(out);
  out.process();
  return out.take();
}

}  // namespace muster

#include "app/metrics/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace muster {
namespace {

const std::vector<double> kRequestBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                            0.25,   0.5,   1,      2.5,   5,    10,    30};
const std::vector<double> kJobBounds = {0.005, 0.01, 0.05, 0.1, 0.5, 1,    2.5,  5,
                                        10,    30,   60,   300, 900, 3600, 14400};
const std::vector<double> kStartupBounds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
constexpr std::size_t kMaxWaitSamples = 10'000;
constexpr auto kWaitWindow = Seconds(300);

std::string escapeLabel(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '"') {
      out += "\\\"";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string poolLabel(const std::string& pool) {
  return fmt::format("pool=\"{}\"", escapeLabel(pool));
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP muster_{} {}\n# TYPE muster_{} {}\n", name, help,
                 name, type);
}

template <class Number>
void sample(std::string& out, std::string_view name, const std::string& labels, Number value) {
  fmt::format_to(std::back_inserter(out), "muster_{}{}{}{} {}\n", name, labels.empty() ? "" : "{",
                 labels, labels.empty() ? "" : "}", value);
}

// Figures of this process in the names every Prometheus client library uses.
void exposeProcess(std::string& out) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  std::error_code fault;
  const auto files = std::distance(std::filesystem::directory_iterator("/proc/self/fd", fault),
                                   std::filesystem::directory_iterator());
  fmt::format_to(std::back_inserter(out),
                 "# HELP process_cpu_seconds_total User and system CPU time spent.\n"
                 "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total {}\n"
                 "# HELP process_resident_memory_bytes Resident memory size.\n"
                 "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {}\n"
                 "# HELP process_open_fds Number of open file descriptors.\n"
                 "# TYPE process_open_fds gauge\nprocess_open_fds {}\n",
                 cpu, resident * sysconf(_SC_PAGESIZE), files);
}

}  // namespace

void Histogram::observe(double seconds) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), seconds) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(seconds, std::memory_order_relaxed);
}

void Histogram::expose(std::string& out, std::string_view name, const std::string& labels) const {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    fmt::format_to(std::back_inserter(out), "muster_{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels,
                   labels.empty() ? "" : ",", bound, total);
  }
  sample(out, fmt::format("{}_sum", name), labels, sum_.load(std::memory_order_relaxed));
  sample(out, fmt::format("{}_count", name), labels, total);
}

Metrics::Metrics() : check_seconds_(kRequestBounds) {}

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

Metrics::PoolCounters& Metrics::poolCounters(const std::string& pool) {
  PoolCounters& counters = pools_[pool];
  if (!counters.wait) {
    counters.wait = std::make_unique<Histogram>(kJobBounds);
    counters.run = std::make_unique<Histogram>(kJobBounds);
  }
  return counters;
}

Metrics::LaunchCounters& Metrics::launchCounters(const std::string& pool) {
  LaunchCounters& counters = launches_[pool];
  if (!counters.startup) counters.startup = std::make_unique<Histogram>(kStartupBounds);
  return counters;
}

void Metrics::countCheck(const Decision& decision, std::chrono::nanoseconds took) {
  check_seconds_.observe(std::chrono::duration<double>(took).count());
  const std::lock_guard lock(mutex_);
  ++checks_[{decision.pool.str(), decision.trigger, decision.direction}];
  launchCounters(decision.pool.str()).desired = decision.desired_workers;
}

void Metrics::countLaunch(const std::string& pool, std::string_view result) {
  const std::lock_guard lock(mutex_);
  ++launchCounters(pool).launches[std::string(result)];
}

void Metrics::countExit(const std::string& pool, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  ++launchCounters(pool).exits[std::string(reason)];
}

void Metrics::countEvents(std::span<const Event> events) {
  const std::lock_guard lock(mutex_);
  for (const Event& event : events) {
    if (event.type == event_type::kWorkerLost) ++reaped_;
    if (event.type == event_type::kWorkerRegistered && event.took > Millis(0)) {
      launchCounters(event.pool)
          .startup->observe(std::chrono::duration<double>(event.took).count());
    }
    if (event.job.empty()) continue;
    PoolCounters& pool = poolCounters(event.pool);
    const double took = std::chrono::duration<double>(event.took).count();
    const auto ended = [&](const char* outcome) {
      ++pool.finished[outcome];
      if (event.attempt) pool.run->observe(took);
    };
    if (event.type == event_type::kJobCreated) {
      ++pool.added;
    } else if (event.type == event_type::kJobClaimed) {
      ++pool.claimed;
      pool.wait->observe(took);
      pool.recent_waits.emplace_back(event.at, took * 1000);
      if (pool.recent_waits.size() > kMaxWaitSamples) pool.recent_waits.pop_front();
    } else if (event.type == event_type::kJobCompleted) {
      ended("done");
    } else if (event.type == event_type::kJobFailed) {
      ended("failed");
    } else if (event.type == event_type::kJobPoisoned) {
      ended("poisoned");
    } else if (event.type == event_type::kJobCancelled || event.type == event_type::kJobExpired) {
      ended("cancelled");
    } else if (event.type == event_type::kJobReassigned) {
      ++pool.leases_expired;
    } else if (event.type == event_type::kJobLateResultDropped) {
      ++pool.late_reports;
    }
  }
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

double Metrics::p95WaitMs(const std::string& pool, Time now) {
  std::vector<double> waits;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pools_.find(pool);
    if (found == pools_.end()) return 0;
    auto& recent = found->second.recent_waits;
    while (!recent.empty() && recent.front().first < now - kWaitWindow) recent.pop_front();
    for (const auto& [at, wait] : recent) waits.push_back(wait);
  }
  if (waits.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(waits.size())));
  std::nth_element(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(rank - 1),
                   waits.end());
  return waits[rank - 1];
}

void Metrics::exposeLaunches(std::string& out) const {
  head(out, "checker_duration_seconds", "histogram", "From the begin of a check to its commit.");
  check_seconds_.expose(out, "checker_duration_seconds", "");
  head(out, "pool_workers_desired", "gauge", "Workers the last check wanted the pool to have.");
  for (const auto& [pool, counters] : launches_) {
    if (counters.desired) sample(out, "pool_workers_desired", poolLabel(pool), *counters.desired);
  }
  head(out, "worker_launches_total", "counter", "Processes of workers, started or not.");
  for (const auto& [pool, counters] : launches_) {
    for (const auto& [result, count] : counters.launches) {
      sample(out, "worker_launches_total", fmt::format("{},result=\"{}\"", poolLabel(pool), result),
             count);
    }
  }
  head(out, "worker_exits_total", "counter", "Processes of workers that ended, by the reason.");
  for (const auto& [pool, counters] : launches_) {
    for (const auto& [reason, count] : counters.exits) {
      sample(out, "worker_exits_total", fmt::format("{},reason=\"{}\"", poolLabel(pool), reason),
             count);
    }
  }
  head(out, "worker_startup_seconds", "histogram", "From the decision to the registration.");
  for (const auto& [pool, counters] : launches_) {
    counters.startup->expose(out, "worker_startup_seconds", poolLabel(pool));
  }
}

std::string Metrics::expose(const std::vector<PoolGauges>& pools, bool leads) const {
  std::string out;
  head(out, "build_info", "gauge", "The version that runs.");
  sample(out, "build_info", fmt::format("version=\"{}\"", MUSTER_VERSION), 1);

  head(out, "leader", "gauge", "1 on the node that leads, else 0.");
  sample(out, "leader", "", leads ? 1 : 0);

  head(out, "pool_jobs", "gauge", "Jobs of a pool by status.");
  for (const auto& [pool, stats, min, max] : pools) {
    for (const auto& [status, count] :
         {std::pair{"pending", stats.pending}, std::pair{"claimed", stats.claimed},
          std::pair{"done", stats.done}, std::pair{"poisoned", stats.poisoned},
          std::pair{"cancelled", stats.cancelled}}) {
      sample(out, "pool_jobs", fmt::format("{},status=\"{}\"", poolLabel(pool), status), count);
    }
  }
  head(out, "pool_jobs_unplaceable", "gauge",
       "Due jobs that no worker, alive or launched, can run.");
  for (const auto& gauge : pools) {
    sample(out, "pool_jobs_unplaceable", poolLabel(gauge.pool), gauge.stats.unplaceable);
  }
  head(out, "pool_oldest_pending_seconds", "gauge", "Age of the oldest pending job.");
  for (const auto& gauge : pools) {
    sample(out, "pool_oldest_pending_seconds", poolLabel(gauge.pool),
           gauge.stats.oldest_pending_seconds);
  }
  head(out, "workers", "gauge", "Workers of a pool by status.");
  for (const auto& [pool, stats, min, max] : pools) {
    for (const auto& [status, count] :
         {std::pair{"starting", stats.starting_workers}, std::pair{"active", stats.active_workers},
          std::pair{"terminating", stats.terminating_workers},
          std::pair{"lost", stats.lost_workers}}) {
      sample(out, "workers", fmt::format("{},status=\"{}\"", poolLabel(pool), status), count);
    }
  }
  head(out, "pool_workers_min", "gauge", "The least workers the pool keeps.");
  for (const auto& gauge : pools) {
    sample(out, "pool_workers_min", poolLabel(gauge.pool), gauge.min_workers);
  }
  head(out, "pool_workers_max", "gauge", "The most workers the pool may have.");
  for (const auto& gauge : pools) {
    sample(out, "pool_workers_max", poolLabel(gauge.pool), gauge.max_workers);
  }

  {
    const std::lock_guard lock(mutex_);
    const auto counter = [&](std::string_view name, std::string_view help,
                             std::uint64_t PoolCounters::*member) {
      head(out, name, "counter", help);
      for (const auto& [pool, counters] : pools_) {
        sample(out, name, poolLabel(pool), counters.*member);
      }
    };
    counter("jobs_added_total", "Jobs pushed.", &PoolCounters::added);
    counter("jobs_claimed_total", "Jobs claimed.", &PoolCounters::claimed);
    counter("leases_expired_total", "Jobs taken back from a lapsed lease or a lost worker.",
            &PoolCounters::leases_expired);
    counter("late_reports_total", "Reports refused because the lease had ended.",
            &PoolCounters::late_reports);
    head(out, "jobs_finished_total", "counter", "Tries that ended, by outcome.");
    for (const auto& [pool, counters] : pools_) {
      for (const auto& [outcome, count] : counters.finished) {
        sample(out, "jobs_finished_total",
               fmt::format("{},outcome=\"{}\"", poolLabel(pool), outcome), count);
      }
    }
    head(out, "job_wait_seconds", "histogram", "From due to claimed.");
    for (const auto& [pool, counters] : pools_) {
      counters.wait->expose(out, "job_wait_seconds", poolLabel(pool));
    }
    head(out, "job_run_seconds", "histogram", "From claimed to reported.");
    for (const auto& [pool, counters] : pools_) {
      counters.run->expose(out, "job_run_seconds", poolLabel(pool));
    }
    head(out, "reaper_workers_total", "counter", "Workers found lost.");
    sample(out, "reaper_workers_total", "", reaped_);
    head(out, "checker_runs_total", "counter", "Checks of a pool, by what came of them.");
    for (const auto& [labels, count] : checks_) {
      const auto& [pool, trigger, direction] = labels;
      sample(out, "checker_runs_total",
             fmt::format("{},trigger=\"{}\",direction=\"{}\"", poolLabel(pool),
                         escapeLabel(trigger), direction),
             count);
    }
    exposeLaunches(out);
    head(out, "trigger_fires_total", "counter", "Firings of triggers.");
    for (const auto& [trigger, count] : trigger_fires_) {
      sample(out, "trigger_fires_total", fmt::format("trigger=\"{}\"", escapeLabel(trigger)),
             count);
    }
    head(out, "hooks_received_total", "counter", "Calls of webhooks, by what became of them.");
    for (const auto& [hook, count] : hook_calls_) {
      sample(out, "hooks_received_total",
             fmt::format("trigger=\"{}\",result=\"{}\"", escapeLabel(hook.first), hook.second),
             count);
    }
    head(out, "webhook_deliveries_total", "counter",
         "Calls of receivers of webhooks, by what became of them.");
    for (const auto& [result, count] : webhook_tries_) {
      sample(out, "webhook_deliveries_total", fmt::format("result=\"{}\"", result), count);
    }
    head(out, "webhook_deliveries_pending", "gauge", "Deliveries to webhooks still to be made.");
    sample(out, "webhook_deliveries_pending", "", pending_webhooks_.load());
    head(out, "store_commit_seconds", "summary", "Time of the commits of the store.");
    sample(out, "store_commit_seconds_sum", "", commits_.seconds);
    sample(out, "store_commit_seconds_count", "", commits_.count);
    head(out, "store_batch_size", "summary", "Units of work per commit.");
    sample(out, "store_batch_size_sum", "", commits_.units);
    sample(out, "store_batch_size_count", "", commits_.count);
  }

  head(out, "http_requests_total", "counter", "Requests answered.");
  for (const auto& route : routes_) {
    for (std::size_t status = 0; status < route->by_status.size(); ++status) {
      const auto count = route->by_status[status].load(std::memory_order_relaxed);
      if (count == 0) continue;
      sample(out, "http_requests_total",
             fmt::format("method=\"{}\",route=\"{}\",code=\"{}\"", route->method,
                         escapeLabel(route->pattern), status),
             count);
    }
  }
  head(out, "http_request_duration_seconds", "histogram", "From the request to the answer.");
  for (const auto& route : routes_) {
    route->seconds.expose(
        out, "http_request_duration_seconds",
        fmt::format("method=\"{}\",route=\"{}\"", route->method, escapeLabel(route->pattern)));
  }
  exposeProcess(out);
  return out;
}

}  // namespace muster

#include "app/scaling/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/policy/floors.h"
#include "models/policy/heap.h"
#include "models/policy/recorded_load.h"
#include "models/store/sql/load_history.h"

namespace muster {
namespace {

using Schedules = std::vector<ScheduledFloor>;

constexpr int kRowsAtOnce = 5000;
constexpr Millis kLongestWindow = std::chrono::days(31);

// What is to be simulated, as the pool and the store's clock are when it begins.
struct Plan {
  PoolId pool;
  PoolSettings policy;
  ScaleConfig config;
  RetryPolicy retry;
  ZoneLookup zones;
  Time now;
  Time from;
  Time to;
};

Error invalid(const std::string& pointer, const std::string& code, const std::string& what) {
  return {ErrorCode::kInvalid, pointer + " " + what, {{pointer, code, what}}};
}

Result<Plan> planOf(Store& store, const PoolId& id, const SimulationRequest& request) {
  const auto pool = store.pools().find(id);
  if (!pool) return fail(ErrorCode::kNotFound, "there is no pool '" + id.str() + "'");
  Pool tried = *pool;
  tried.given = overlay(pool->given, request.changes);
  tried.settings = inForce(store.rules().pool_defaults, tried.given);
  if (const auto fault = contradiction(tried.settings)) {
    return tl::unexpected(invalid(fault->first, "contradiction", fault->second));
  }
  if (auto faults =
          scheduleFaults(tried.settings.schedules.value_or(Schedules()), store.rules().zones);
      !faults.empty()) {
    return tl::unexpected(
        Error{ErrorCode::kInvalid, "a schedule cannot be read", std::move(faults)});
  }
  Plan plan;
  plan.pool = id;
  plan.policy = tried.settings;
  plan.retry = tried.settings.retryPolicy();
  plan.config = store.scaling().config(tried);
  plan.config.paused = false;
  plan.config.has_template = true;
  plan.zones = store.rules().zones;
  plan.now = store.now();
  const Time past_now = plan.now + Millis(1);  // what came just now is in it
  plan.to = std::min(request.to.value_or(past_now), past_now);
  if (request.from && *request.from >= plan.to) {
    return tl::unexpected(invalid("/from", "range", "must be before to, and in the past"));
  }
  plan.from = std::max(request.from.value_or(Time()), plan.to - kLongestWindow);
  if (request.from && plan.from > *request.from) {
    return tl::unexpected(invalid("/from", "range", "must be at most 31 days before to"));
  }
  return plan;
}

LatencySignal signalOf(const PoolSettings& settings) {
  if (settings.latency_signal == "run") return LatencySignal::kRun;
  return settings.latency_signal == "total" ? LatencySignal::kTotal : LatencySignal::kWait;
}

// Gives the jobs on record in the order in which they could first run, reading on as needed.
class JobReader {
 public:
  JobReader(Storage& storage, const Plan& plan, RecordedLoad& load)
      : storage_(storage), plan_(plan), load_(load) {}

  std::optional<RecordedJob> next() {
    while (!at_end_ && (ahead_.empty() || ahead_.top().at > read_until_)) readPiece();
    if (ahead_.empty()) return std::nullopt;
    return ahead_.pop();
  }
  const Status& status() const { return status_; }

 private:
  struct Sooner {
    bool operator()(const RecordedJob& a, const RecordedJob& b) const {
      return a.at != b.at ? a.at < b.at : a.order < b.order;
    }
  };

  void readPiece() {
    LoadHistory::JobPiece piece;
    status_ = storage_.readAndWait([&](Store& store) {
      piece =
          LoadHistory(store.session, plan_.pool, plan_.from, plan_.to).jobs(after_, kRowsAtOnce);
    });
    at_end_ = !status_ || piece.is_last;
    if (!status_) return;
    after_ = piece.next;
    for (const JobHistory& history : piece.jobs) {
      // None that follows is older, so nothing can come before it any more.
      read_until_ = std::max(read_until_, history.created_at);
      if (auto job = load_.add(history)) ahead_.push(*std::move(job));
    }
  }

  Storage& storage_;
  const Plan& plan_;
  RecordedLoad& load_;
  Heap<RecordedJob, Sooner> ahead_;  // read, and not asked for yet
  Time read_until_{};
  std::int64_t after_ = 0;
  bool at_end_ = false;
  Status status_;
};

Status readWorkers(Storage& storage, const Plan& plan, RecordedLoad& load,
                   const std::stop_token& stop) {
  LoadHistory::WorkerPiece piece;
  do {
    const std::string after = piece.next;
    Status status = storage.readAndWait([&](Store& store) {
      piece = LoadHistory(store.session, plan.pool, plan.from, plan.to).workers(after, kRowsAtOnce);
    });
    if (!status) return status;
    for (const WorkerHistory& worker : piece.workers) load.add(worker);
  } while (!piece.is_last && !stop.stop_requested());
  return {};
}

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

// What whoever reads the figures should know about them.
std::string noteOf(const RecordedLoad& load, const LoadFigures& simulated, const Plan& plan) {
  if (load.jobs() == 0) return "no job is on record for this time";
  std::string note = "placement, tenants' limits and failing launches are not simulated";
  if (load.bootTimes().empty()) note += "; no boot time is on record, 0 is assumed";
  if (load.stillOpen() > 0) {
    note += fmt::format("; {} not finished: counted with the time known",
                        count(load.stillOpen(), "job"));
  }
  if (load.leftOut() > 0) {
    note += fmt::format("; {} left out: cancelled or expired before a claim, or not due yet",
                        count(load.leftOut(), "job"));
  }
  if (simulated.unfinished > 0) {
    note += fmt::format("; with this policy {} not served within 31 days",
                        count(simulated.unfinished, "job"));
  }
  if (*plan.policy.predictive) note += "; predictions are not simulated";
  return note;
}

}  // namespace

Simulator::Simulator(Storage& storage, Options options)
    : storage_(storage),
      options_(options),
      thread_([this](const std::stop_token& stop) { loop(stop); }) {}

Simulator::~Simulator() { stop(); }

void Simulator::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

bool Simulator::start(const PoolId& pool, const SimulationRequest& request, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (busy_ || thread_.get_stop_token().stop_requested()) return false;
    busy_ = true;
    order_ = Order{pool, request, std::move(done)};
  }
  changed_.notify_one();
  return true;
}

void Simulator::loop(const std::stop_token& stop) {
  for (;;) {
    Order order;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return order_.has_value(); })) return;
      order = *std::exchange(order_, std::nullopt);
    }
    auto report = run(order, stop);
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;
    }
    order.done(std::move(report));
  }
}

Result<SimulationReport> Simulator::run(const Order& order, const std::stop_token& stop) {
  Result<Plan> plan;
  Status status =
      storage_.readAndWait([&](Store& store) { plan = planOf(store, order.pool, order.request); });
  if (!status) return tl::unexpected(status.error());
  if (!plan) return tl::unexpected(std::move(plan).error());

  RecordedLoad load(plan->now, plan->retry);
  status = readWorkers(storage_, *plan, load, stop);
  if (!status) return tl::unexpected(status.error());

  SimulationRules rules;
  rules.config = plan->config;
  rules.latency = signalOf(plan->policy);
  if (const std::int64_t each = *plan->policy.max_workers_per_host; each > 0) {
    rules.host_slots = each * static_cast<std::int64_t>(std::max<std::size_t>(load.hosts(), 1));
  }
  rules.launch_rate = options_.launch_rate;
  rules.idle_timeout = keepsWorkers(plan->policy) ? Millis(0) : options_.idle_timeout;
  rules.worker_max_jobs = options_.worker_max_jobs;
  rules.boot_times = load.bootTimes();
  if (plan->policy.schedules) {
    rules.scheduled_floor = [&plan](Time now) {
      return scheduledFloor(*plan->policy.schedules, now, plan->zones);
    };
  }
  rules.from = order.request.from;
  rules.to = plan->to;
  rules.stopped = [&stop] { return stop.stop_requested(); };
  JobReader reader(storage_, *plan, load);
  const SimulationOutcome outcome = simulate([&reader] { return reader.next(); }, rules);
  if (!reader.status()) return tl::unexpected(reader.status().error());
  if (stop.stop_requested()) {
    return tl::unexpected(Error{ErrorCode::kDraining, "the service is stopping", {}, Seconds(5)});
  }

  SimulationReport report;
  report.pool = order.pool;
  report.from = outcome.from.value_or(plan->to);
  report.to = plan->to;
  report.jobs = load.jobs();
  report.tries = load.tries();
  report.left_out = load.leftOut();
  report.policy = plan->policy;
  report.simulated = outcome.figures;
  report.recorded = load.figures();
  report.note = noteOf(load, outcome.figures, *plan);
  return report;
}

}  // namespace muster

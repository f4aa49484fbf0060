#include "models/store/sql/scaling.h"

#include <algorithm>
#include <set>

#include "models/policy/floors.h"
#include "models/policy/resource_pressure.h"
#include "models/policy/staleness.h"
#include "models/store/sql/circuits.h"
#include "models/store/sql/hosts.h"
#include "models/store/sql/launches.h"
#include "models/store/sql/load.h"
#include "models/store/sql/placing.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/workers.h"

namespace muster {
namespace {

constexpr Sql kLive{
    "SELECT w.status, w.slots, w.last_heartbeat, w.mode, w.jobs_done + w.jobs_failed, w.host, "
    "(SELECT count(*) FROM jobs j WHERE j.claimed_by = w.worker_id AND j.status = 'claimed'), "
    "w.region, w.capabilities, w.executor_types, "
    "CASE WHEN w.launched_at IS NULL THEN 0 ELSE 1 END, w.worker_id, "
    "w.disk_bytes_in_use, w.mem_bytes_in_use "
    "FROM workers w WHERE w.pool_id = $1 AND "
    "w.ended_at "
    "IS NULL"};
constexpr Sql kMaybeAlive{
    "SELECT count(*) FROM workers WHERE pool_id = $1 AND launched_at IS NOT NULL "
    "AND exited_at IS NULL AND ended_at IS NOT NULL AND ($2 = '' OR host = $3)"};
// And whether the folder of the host was ever reported.
constexpr Sql kUnjudged{
    "SELECT count(*), (SELECT h.disk_bytes_in_use FROM hosts h WHERE h.host = $2) "
    "FROM workers WHERE launch_verdict = 'open' AND pool_id = $1"};
// Jobs that must run on it wait for the worker.
#define MUSTER_IS_WAITED_FOR(pool, pin)                                                \
  "EXISTS (SELECT 1 FROM lanes l JOIN jobs q ON q.lane_id = l.lane_id "                \
  "AND q.status = 'pending' JOIN job_pins p ON p.seq = q.seq AND p.mode = 'required' " \
  "WHERE l.pool_id = " pool " AND l.pin = " pin ")"
constexpr Sql kIsWaitedFor{"SELECT 1 WHERE " MUSTER_IS_WAITED_FOR("$1", "$2")};
// Those that hold resources last; else idle ones first, those that are there longest before others,
// then by the youngest job.
#define MUSTER_SELECT_DRAINABLE(launched, idle)                                                    \
  "SELECT w.worker_id FROM workers w LEFT JOIN jobs j ON j.claimed_by = w.worker_id "              \
  "AND j.status = 'claimed' WHERE w.pool_id = $1 AND w.ended_at IS NULL " launched                 \
  "AND w.status NOT IN ('starting', 'terminating') AND NOT " MUSTER_IS_WAITED_FOR(                 \
      "w.pool_id", "'worker:' || w.worker_id") " GROUP BY w.worker_id " idle                       \
                                               "ORDER BY w.holds, max(j.claimed_at) IS NOT NULL, " \
                                               "max(j.claimed_at) DESC, w.started_at LIMIT $2"
constexpr Sql kDrainable{MUSTER_SELECT_DRAINABLE("", "")};
constexpr Sql kIdleLaunched{
    MUSTER_SELECT_DRAINABLE("AND w.launched_at IS NOT NULL ", "HAVING max(j.claimed_at) IS NULL ")};
constexpr Sql kMemory{
    "SELECT last_scaled_at, level, spare_since, spare_least FROM pool_scaling WHERE pool_id = $1"};
constexpr Sql kRememberScale{
    "INSERT INTO pool_scaling (pool_id, last_scaled_at, level, spare_since, spare_least) "
    "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (pool_id) DO UPDATE SET "
    "last_scaled_at = excluded.last_scaled_at, level = excluded.level, "
    "spare_since = excluded.spare_since, spare_least = excluded.spare_least"};
constexpr Sql kForget{"DELETE FROM pool_scaling WHERE pool_id = $1"};

constexpr int kMostLookedAt = 1000;  // idle workers

// Whether a row of kLive may run some of the jobs that one would be launched for. An idle worker
// that may run none of them must not keep it from being launched.
bool mayServe(const SqlRows& row, const std::vector<Placement>& wanted) {
  const auto is_plain = [](const Placement& placement) { return placement.empty(); };
  if (wanted.empty() || std::any_of(wanted.begin(), wanted.end(), is_plain)) return true;
  const WorkerTraits worker{row.string(5), row.string(7), parseTexts(row.text(8)),
                            parseTexts(row.text(9))};
  return std::any_of(wanted.begin(), wanted.end(), [&](const Placement& placement) {
    return !placementObstacle(placement, worker, 0);
  });
}

}  // namespace

ScaleState Scaling::state(const Pool& pool) {
  s_.flushTries();
  const PoolStats stats = Pools(s_).stats(pool.id);
  ScaleState state;
  state.runnable = stats.runnable;
  state.elsewhere = stats.elsewhere;
  state.unplaceable = stats.unplaceable;
  state.unplaceable_jobs = stats.unplaceable_jobs;
  state.pending = stats.pending;
  state.claimed = stats.claimed;
  state.circuit_allows = circuitAllowance(Circuits(s_).find(pool), s_.now);
  const auto wanted = pendingForLaunched(s_, pool);
  const bool has_pinned_here =
      std::any_of(wanted.begin(), wanted.end(), [&](const auto& placement) {
        return placement.allowed_nodes == std::vector<std::string>{s_.rules.host};
      });
  {
    auto live = s_.db.query(kLive, pool.id);
    while (live.next()) {
      const std::string_view status = live->text(0);
      const std::int64_t held = live->integer(6);
      if (status == worker_status::kStarting) {
        ++state.starting;
        continue;
      }
      if (status == worker_status::kTerminating) {
        ++state.terminating;
        continue;
      }
      ++(held > 0 ? state.busy : state.idle);
      const std::string worker = live->string(11);
      const bool may_stop = held == 0 && live->integer(10) != 0 && live->text(3) == "loop" &&
                            !(stats.pinned > 0 && isWaitedFor(pool.id, worker));
      if (may_stop) ++state.drainable;
      if (may_stop && has_pinned_here && !mayServe(*live, wanted)) ++state.in_the_way;
      const bool spent = live->text(3) == "once" && live->integer(4) > 0;  // it is leaving
      const ResourceUse use{live->maybeInteger(12), live->maybeInteger(13)};
      const bool has_too_much = isOverLimit(use, s_.rules.resources.workerLimits());
      if (!spent && !has_too_much && !isStale(live->time(2), pool.settings.staleAfter(), s_.now) &&
          mayServe(*live, wanted)) {
        const auto pinned = stats.pinned_places.find(worker);
        const std::int64_t taken = pinned == stats.pinned_places.end() ? 0 : pinned->second;
        state.free_slots += std::max<std::int64_t>(live->integer(1) - held - taken, 0);
      }
    }
  }
  auto gone = s_.db.query(kMaybeAlive, pool.id, s_.rules.node, s_.rules.host);
  if (gone.next()) state.maybe_alive = gone->integer(0);
  recallInto(state, pool);
  return state;
}

ScaleLimits Scaling::limits(const Pool& pool, const ScaleState& state) {
  ScaleLimits limits;
  if (*pool.settings.max_workers_per_host > 0) {
    std::int64_t here = state.maybe_alive;
    auto live = s_.db.query(kLive, pool.id);
    while (live.next()) here += live->text(5) == s_.rules.host ? 1 : 0;
    limits.host_slots = std::max<std::int64_t>(*pool.settings.max_workers_per_host - here, 0);
  }
  std::int64_t unjudged = 0;
  bool has_folder = false;
  {
    auto open = s_.db.query(kUnjudged, pool.id, s_.rules.host);
    if (open.next()) {
      unjudged = open->integer(0);
      has_folder = !open->isNull(1);
    }
  }
  if (has_folder && Hosts(s_).isOverDiskLimit(s_.rules.host)) limits.resource_pressure = 0;
  limits.breaker = launchAllowance(Launches(s_).record(pool), state.starting, unjudged, s_.now);
  return limits;
}

ScaleConfig Scaling::config(const Pool& pool) {
  const PoolSettings& given = pool.settings;
  ScaleConfig config;
  config.paused = *given.paused;
  config.has_template = !Launches(s_).versionOf(pool).empty();
  config.loop = given.worker_mode == "loop";
  config.min_workers = *given.min_workers;
  config.max_workers = *given.max_workers;
  config.warm_idle = *given.warm_idle;
  config.slots = *given.slots;
  config.jobs_per_worker = *given.jobs_per_worker;
  if (given.scaling_mode == "target") config.target_workers = given.target_workers.value_or(0);
  if (given.scaling_mode == "adaptive") config.adaptive = adaptiveConfigOf(given);
  return config;
}

// What was so before, and what the hour asks for.
void Scaling::recallInto(ScaleState& state, const Pool& pool) {
  const PoolSettings& given = pool.settings;
  if (given.schedules) {
    state.scheduled_floor = scheduledFloor(*given.schedules, s_.now, s_.rules.zones);
  }
  if (*given.predictive) {
    constexpr int kWeeks = 4;
    state.predicted_floor =
        predictedFloor(Load(s_).sameHours(pool.id, s_.now, kWeeks), *given.slots);
  }
  const bool adaptive = given.scaling_mode == "adaptive";
  if (adaptive) state.p95_latency_ms = Load(s_).p95Ms(pool.id, *given.latency_signal);
  if (!adaptive && given.worker_mode != "loop") return;
  recall(pool.id).recallInto(state, s_.now);
}

ScaleMemory Scaling::recall(const PoolId& pool) {
  auto rows = s_.db.query(kMemory, pool);
  if (!rows.next()) return {};
  return {rows->maybeTime(0), rows->integer(1), rows->maybeTime(2), rows->integer(3)};
}

void Scaling::apply(const Pool& pool, const ScaleDecision& decision) {
  if (decision.makes_room) {
    makeRoom(pool);
  } else if (decision.to_drain > 0) {
    drain(pool.id, decision.to_drain, decision.drains_busy);
  }
  const ScaleConfig rules = config(pool);
  if (!rules.adaptive && !rules.loop) return;
  const ScaleMemory before = recall(pool.id);
  ScaleMemory after = before;
  after.note(decision, rules, s_.now);
  if (after == before) return;
  s_.db.execute(kRememberScale, pool.id, after.last_scaled_at, after.level, after.spare_since,
                after.spare_least);
}

void Scaling::drain(const PoolId& pool, std::int64_t count, bool busy_too) {
  std::vector<WorkerId> chosen;
  {
    auto rows = s_.db.query(busy_too ? kDrainable : kIdleLaunched, pool, count);
    while (rows.next()) chosen.emplace_back(rows->string(0));
  }
  for (const WorkerId& id : chosen) askToStop(id);
}

void Scaling::askToStop(const WorkerId& worker) {
  WorkerChange change;
  change.status = std::string(worker_status::kTerminating);
  Workers(s_).change(worker, change).value();
}

bool Scaling::isWaitedFor(const PoolId& pool, const std::string& worker) {
  return s_.db.query(kIsWaitedFor, pool, Holder{Holder::Kind::kWorker, worker}.text()).next();
}

// One idle worker that may run none of the jobs that ask for a launch.
void Scaling::makeRoom(const Pool& pool) {
  const auto wanted = pendingForLaunched(s_, pool);
  std::vector<WorkerId> idle;
  {
    auto chosen = s_.db.query(kIdleLaunched, pool.id, kMostLookedAt);
    while (chosen.next()) idle.emplace_back(chosen->string(0));
  }
  std::set<std::string> in_the_way;
  {
    auto live = s_.db.query(kLive, pool.id);
    while (live.next()) {
      if (!mayServe(*live, wanted)) in_the_way.insert(live->string(11));
    }
  }
  for (const WorkerId& id : idle) {
    if (in_the_way.contains(id.str())) return askToStop(id);
  }
}

void Scaling::removeOf(const PoolId& pool) { s_.db.post(kForget, pool); }

}  // namespace muster

#include "models/store/sql/load.h"

#include <map>

#include "models/store/sql/pools.h"

namespace muster {
namespace {

constexpr Millis kRecent = Seconds(300);
constexpr auto kHoursKept = std::chrono::days(35);

constexpr Sql kOwnDurations{
    "SELECT pool_id, at, waits, runs, totals FROM pool_load "
    "WHERE at >= $1 AND at <= $2 AND node = $3"};
constexpr Sql kAdd{
    "INSERT INTO pool_load (pool_id, at, node, added, claimed, done, failed, poisoned, cancelled, "
    "waits, runs, totals) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) "
    "ON CONFLICT (pool_id, at, node) DO UPDATE SET added = pool_load.added + excluded.added, "
    "claimed = pool_load.claimed + excluded.claimed, done = pool_load.done + excluded.done, "
    "failed = pool_load.failed + excluded.failed, "
    "poisoned = pool_load.poisoned + excluded.poisoned, "
    "cancelled = pool_load.cancelled + excluded.cancelled, "
    "waits = excluded.waits, runs = excluded.runs, totals = excluded.totals"};
constexpr Sql kAddHour{
    "INSERT INTO pool_hours (pool_id, hour, node, added, finished, run_ms) "
    "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (pool_id, hour, node) DO UPDATE SET "
    "added = pool_hours.added + excluded.added, "
    "finished = pool_hours.finished + excluded.finished, "
    "run_ms = pool_hours.run_ms + excluded.run_ms"};

constexpr Sql kJobsOfPools{
    "SELECT l.pool_id, sum(c.pending), sum(c.claimed) FROM lanes l "
    "JOIN lane_counts c ON c.lane_id = l.lane_id GROUP BY l.pool_id "
    "HAVING sum(c.pending) > 0 OR sum(c.claimed) > 0"};
constexpr Sql kWorkersOfPools{
    "SELECT w.pool_id, count(*), sum(CASE WHEN EXISTS (SELECT 1 FROM jobs j "
    "WHERE j.claimed_by = w.worker_id AND j.status = 'claimed') THEN 1 ELSE 0 END) "
    "FROM workers w WHERE w.ended_at IS NULL AND w.pool_id IS NOT NULL AND w.status <> 'starting' "
    "GROUP BY w.pool_id"};
// A look writes a row for every pool where something is, so that the last one that wrote any knows
// of all that have something to lose.
constexpr Sql kLastSeen{
    "SELECT DISTINCT pool_id FROM pool_load WHERE pending IS NOT NULL "
    "AND at = (SELECT max(at) FROM pool_load WHERE pending IS NOT NULL) "
    "AND pending + claimed_now + workers > 0"};
constexpr Sql kNoteGauges{
    "INSERT INTO pool_load (pool_id, at, node, added, claimed, done, failed, poisoned, cancelled, "
    "waits, runs, totals, pending, claimed_now, workers, busy_workers) "
    "VALUES ($1, $2, $3, 0, 0, 0, 0, 0, 0, '', '', '', $4, $5, $6, $7) "
    "ON CONFLICT (pool_id, at, node) DO UPDATE SET pending = excluded.pending, "
    "claimed_now = excluded.claimed_now, workers = excluded.workers, "
    "busy_workers = excluded.busy_workers"};

constexpr Sql kRecentDurations{
    "SELECT waits, runs, totals FROM pool_load WHERE pool_id = $1 AND at >= $2"};
constexpr Sql kHour{
    "SELECT sum(added), sum(finished), sum(run_ms) FROM pool_hours "
    "WHERE pool_id = $1 AND hour = $2"};
constexpr Sql kSteps{
    "SELECT at, added, claimed, done, failed, poisoned, cancelled, waits, runs, totals, pending, "
    "claimed_now, workers, busy_workers FROM pool_load "
    "WHERE pool_id = $1 AND at >= $2 AND at < $3 ORDER BY at, node"};
constexpr Sql kGaugesBefore{
    "SELECT pending, claimed_now, workers, busy_workers FROM pool_load "
    "WHERE pool_id = $1 AND at < $2 AND pending IS NOT NULL ORDER BY at DESC, node DESC LIMIT 1"};

constexpr Sql kRemoveOldLoad{
    "DELETE FROM pool_load WHERE (pool_id, at, node) IN "
    "(SELECT pool_id, at, node FROM pool_load WHERE at < $1 ORDER BY at LIMIT $2)"};
constexpr Sql kRemoveOldHours{
    "DELETE FROM pool_hours WHERE (pool_id, hour, node) IN "
    "(SELECT pool_id, hour, node FROM pool_hours WHERE hour < $1 ORDER BY hour LIMIT $2)"};
constexpr Sql kRemoveLoadOf{"DELETE FROM pool_load WHERE pool_id = $1"};
constexpr Sql kRemoveHoursOf{"DELETE FROM pool_hours WHERE pool_id = $1"};

LoadGauges readGauges(const SqlRows& row, int first) {
  return {row.integer(first), row.integer(first + 1), row.integer(first + 2),
          row.integer(first + 3)};
}

}  // namespace

void Load::add(const LoadByStep& seen) {
  if (seen.empty()) return;
  LoadByStep all;
  Time first = Time::max(), last = Time::min();
  for (const auto& [step, counts] : seen) {
    if (!Pools(s_).find(PoolId(step.first))) continue;
    all[step] = counts;
    first = std::min(first, step.second);
    last = std::max(last, step.second);
  }
  if (all.empty()) return;

  std::map<std::pair<std::string, Time>, HourOfLoad> hours;
  for (const auto& [step, counts] : all) {
    HourOfLoad& hour = hours[{step.first, std::chrono::floor<std::chrono::hours>(step.second)}];
    hour.added += counts.added;
    hour.finished += counts.done + counts.poisoned;
    hour.run_time += counts.run_time;
  }
  {
    auto rows = s_.db.query(kOwnDurations, first, last, s_.rules.node);
    while (rows.next()) {
      const auto step = all.find({rows->string(0), rows->time(1)});
      if (step == all.end()) continue;
      step->second.waits.merge(Durations::decode(rows->text(2)));
      step->second.runs.merge(Durations::decode(rows->text(3)));
      step->second.totals.merge(Durations::decode(rows->text(4)));
    }
  }
  for (const auto& [step, counts] : all) {
    s_.db.post(kAdd, step.first, step.second, s_.rules.node, counts.added, counts.claimed,
               counts.done, counts.failed, counts.poisoned, counts.cancelled, counts.waits.encode(),
               counts.runs.encode(), counts.totals.encode());
  }
  for (const auto& [hour, load] : hours) {
    if (load == HourOfLoad()) continue;
    s_.db.post(kAddHour, hour.first, hour.second, s_.rules.node, load.added, load.finished,
               load.run_time.count());
  }
}

void Load::sample() {
  s_.flushCounts();
  std::map<std::string, LoadGauges> pools;
  {
    auto rows = s_.db.query(kLastSeen);
    while (rows.next()) pools[rows->string(0)];
  }
  {
    auto rows = s_.db.query(kJobsOfPools);
    while (rows.next()) {
      LoadGauges& gauges = pools[rows->string(0)];
      gauges.pending = rows->integer(1);
      gauges.claimed = rows->integer(2);
    }
  }
  {
    auto rows = s_.db.query(kWorkersOfPools);
    while (rows.next()) {
      LoadGauges& gauges = pools[rows->string(0)];
      gauges.workers = rows->integer(1);
      gauges.busy_workers = rows->integer(2);
    }
  }
  const Time at = loadStepOf(s_.now);
  for (const auto& [pool, gauges] : pools) {
    s_.db.post(kNoteGauges, pool, at, s_.rules.node, gauges.pending, gauges.claimed, gauges.workers,
               gauges.busy_workers);
  }
}

Time Load::recentSince() const { return loadStepOf(s_.now - kRecent); }

Durations Load::recent(const PoolId& pool, std::string_view signal) {
  Durations sum;
  const int column = signal == "run" ? 1 : signal == "total" ? 2 : 0;
  auto rows = s_.db.query(kRecentDurations, pool, recentSince());
  while (rows.next()) sum.merge(Durations::decode(rows->text(column)));
  return sum;
}

std::vector<HourOfLoad> Load::sameHours(const PoolId& pool, Time at, int weeks) {
  std::vector<HourOfLoad> hours;
  const Time hour = std::chrono::floor<std::chrono::hours>(at);
  for (int week = 1; week <= weeks; ++week) {
    auto rows = s_.db.query(kHour, pool, Time(hour - std::chrono::weeks(week)));
    if (!rows.next() || rows->isNull(0)) continue;
    hours.push_back({week, rows->integer(0), rows->integer(1), Millis(rows->integer(2))});
  }
  return hours;
}

std::vector<LoadStep> Load::steps(const PoolId& pool, Time from, Time to) {
  std::vector<LoadStep> steps;
  auto rows = s_.db.query(kSteps, pool, from, to);
  while (rows.next()) {
    LoadStep& step = steps.emplace_back();
    step.at = rows->time(0);
    LoadCounts& counts = step.counts;
    counts.added = rows->integer(1);
    counts.claimed = rows->integer(2);
    counts.done = rows->integer(3);
    counts.failed = rows->integer(4);
    counts.poisoned = rows->integer(5);
    counts.cancelled = rows->integer(6);
    counts.waits = Durations::decode(rows->text(7));
    counts.runs = Durations::decode(rows->text(8));
    counts.totals = Durations::decode(rows->text(9));
    if (!rows->isNull(10)) step.gauges = readGauges(*rows, 10);
  }
  return steps;
}

LoadGauges Load::gaugesBefore(const PoolId& pool, Time before) {
  auto rows = s_.db.query(kGaugesBefore, pool, before);
  return rows.next() ? readGauges(*rows, 0) : LoadGauges();
}

std::int64_t Load::removeOld(Time before, int limit) {
  return s_.db.execute(kRemoveOldLoad, before, limit) +
         s_.db.execute(kRemoveOldHours, Time(s_.now - kHoursKept), limit);
}

void Load::removeOf(const PoolId& pool) {
  s_.db.post(kRemoveLoadOf, pool);
  s_.db.post(kRemoveHoursOf, pool);
}

}  // namespace muster

#include "models/store/sql/session.h"

#include <algorithm>

#include "models/store/sql/sql_array.h"

namespace muster {
namespace {

constexpr Sql kInsertEvent{
    "INSERT INTO events (at, type, pool_id, job_id, job_seq, worker_id, attempt, details, caller) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"};

// Few events concern a node; the many that do not are spared the column.
constexpr Sql kInsertNodeEvent{
    "INSERT INTO events (at, type, node_id, details) VALUES ($1, $2, $3, $4)"};
constexpr Sql kNameNode{
    "UPDATE events SET node_id = $2 WHERE seq = (SELECT last_event FROM store_clock) - $1"};

// PostgreSQL: whoever takes the numbers of events keeps the row of the clock until the commit, so
// numbers become visible in their order and no reader passes over one.
constexpr Sql kTurnCatalog{"UPDATE store_clock SET catalog = catalog + 1"};
constexpr Sql kTurnCircuits{"UPDATE store_clock SET circuits = circuits + 1"};
constexpr Sql kAppendEvents{
    "WITH clock AS (UPDATE store_clock SET last_event = last_event + $1, catalog = catalog + $2 "
    "RETURNING last_event - $1 AS before) "
    "INSERT INTO events (seq, at, type, pool_id, job_id, job_seq, worker_id, attempt, details, "
    "caller, origin) SELECT clock.before + e.n, CAST($3 AS BIGINT), e.type, e.pool_id, e.job_id, "
    "e.job_seq, e.worker_id, "
    "e.attempt, e.details, e.caller, CAST($4 AS BIGINT) FROM clock, unnest(CAST($5 AS TEXT[]), "
    "CAST($6 AS "
    "TEXT[]), "
    "CAST($7 AS TEXT[]), CAST($8 AS BIGINT[]), CAST($9 AS TEXT[]), CAST($10 AS INTEGER[]), "
    "CAST($11 AS TEXT[]), CAST($12 AS TEXT[])) WITH ORDINALITY AS "
    "e (type, pool_id, job_id, job_seq, worker_id, attempt, details, caller, n)"};

constexpr Sql kAddCounts{
    "INSERT INTO lane_counts (lane_id, writer, pending, claimed, done, poisoned, cancelled, "
    "blocked) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
    "ON CONFLICT (lane_id, writer) DO UPDATE SET "
    "pending = lane_counts.pending + excluded.pending, "
    "claimed = lane_counts.claimed + excluded.claimed, done = lane_counts.done + excluded.done, "
    "poisoned = lane_counts.poisoned + excluded.poisoned, "
    "cancelled = lane_counts.cancelled + excluded.cancelled, "
    "blocked = lane_counts.blocked + excluded.blocked"};
constexpr Sql kTenantLeaves{
    "UPDATE tenants SET claimed = claimed - $3 WHERE pool_id = $1 AND tenant = $2"};
constexpr Sql kAddTries{
    "UPDATE workers SET jobs_done = jobs_done + $2, jobs_failed = jobs_failed + $3 "
    "WHERE worker_id = $1"};

// PostgreSQL: the same for many workers in one step.
constexpr Sql kAddAllTries{
    "UPDATE workers w SET jobs_done = w.jobs_done + t.done, jobs_failed = w.jobs_failed + t.failed "
    "FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[])) "
    "AS t(worker, done, failed) WHERE w.worker_id = t.worker COLLATE \"C\""};

// PostgreSQL only. The number is arbitrary, and another than those of PostgresConnection.
constexpr Sql kLockLimits{"SELECT pg_advisory_xact_lock(7815279120118)"};

}  // namespace

void Session::begin(Time time, std::optional<Versions> versions) {
  now = time;
  ++transaction;
  unsettled = false;
  limits_locked_ = false;
  if (db.hasPeers()) turns.clear();
  if (!versions) return;
  if (versions->catalog != catalog_) {
    pool_cache.clear();
    lanes.clear();
    catalog_ = versions->catalog;
  }
  if (versions->circuits != circuits_version_) {
    circuits.reset();
    circuits_version_ = versions->circuits;
  }
}

void Session::emit(Event event) {
  event.at = now;
  event.caller = caller;
  events_.push_back(std::move(event));
}

std::array<std::int64_t, kJobStatuses>& Session::delta(std::int64_t lane) {
  for (Delta& entry : deltas_) {
    if (entry.lane == lane) return entry.by_status;
  }
  deltas_.push_back({lane});
  return deltas_.back().by_status;
}

void Session::lockLimits() {
  if (!db.hasPeers() || std::exchange(limits_locked_, true)) return;
  db.post(kLockLimits);
}

void Session::flushCounts() {
  std::sort(deltas_.begin(), deltas_.end(),
            [](const Delta& a, const Delta& b) { return a.lane < b.lane; });
  for (const Delta& entry : deltas_) {
    const auto& n = entry.by_status;
    db.post(kAddCounts, entry.lane, writer, n[0], n[1], n[2], n[3], n[4], n[5]);
  }
  deltas_.clear();
}

void Session::flushTenants() {
  if (tenants_left_.empty()) return;
  lockLimits();
  for (const auto& [key, count] : tenants_left_) {
    db.post(kTenantLeaves, key.first, key.second, count);
  }
  tenants_left_.clear();
}

void Session::flushTries() {
  if (tries_.empty()) return;
  SqlArray workers, done, failed;
  for (const auto& [worker, tries] : tries_) {
    if (!db.hasPeers()) db.post(kAddTries, worker, tries.first, tries.second);
    workers.add(worker);
    done.addOrNull(std::optional(tries.first));
    failed.addOrNull(std::optional(tries.second));
  }
  if (db.hasPeers()) db.post(kAddAllTries, workers.text(), done.text(), failed.text());
  tries_.clear();
}

void Session::appendEvents(std::span<const Event> events) {
  SqlArray types, pools, jobs, job_seqs, workers, attempts, details, callers;
  for (const Event& event : events) {
    types.add(event.type);
    pools.addOrNull(event.pool);
    jobs.addOrNull(event.job);
    job_seqs.addOrNull(event.job_seq > 0 ? std::optional(event.job_seq) : std::nullopt);
    workers.addOrNull(event.worker);
    attempts.addOrNull(event.attempt);
    details.addOrNull(event.details);
    callers.addOrNull(event.caller);
  }
  db.post(kAppendEvents, static_cast<std::int64_t>(events.size()), catalog_changed_, now, origin,
          types.text(), pools.text(), jobs.text(), job_seqs.text(), workers.text(), attempts.text(),
          details.text(), callers.text());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].node.empty()) continue;
    db.post(kNameNode, static_cast<std::int64_t>(events.size() - 1 - i), events[i].node);
  }
  catalog_changed_ = false;
}

void Session::flushEvents() {
  const auto events = std::span<const Event>(events_).subspan(events_written_);
  if (events.empty()) return;
  events_written_ = events_.size();
  if (db.hasPeers()) {
    appendEvents(events);
    return;
  }
  for (const Event& event : events) {
    if (!event.node.empty()) {
      db.post(kInsertNodeEvent, event.at, event.type, event.node, orNull(event.details));
      continue;
    }
    db.post(kInsertEvent, event.at, event.type, orNull(event.pool), orNull(event.job),
            event.job_seq > 0 ? SqlValue(event.job_seq) : SqlValue(), orNull(event.worker),
            event.attempt, orNull(event.details), orNull(event.caller));
  }
}

void Session::flush() {
  if (ahead.hasLeftovers()) {
    throw StoreError(StoreError::Kind::kConflict, "a unit did not ask for what it had foretold");
  }
  flushTenants();
  flushTries();
  flushCounts();
  flushEvents();
  if (catalog_changed_ && db.hasPeers()) db.post(kTurnCatalog);
  catalog_changed_ = false;
  if (circuits_changed_ && db.hasPeers()) db.post(kTurnCircuits);
  circuits_changed_ = false;
}

void Session::committed() {
  after_rollback_.clear();
  for (const auto& act : std::exchange(after_commit_, {})) act();
}

void Session::forget() {
  for (const auto& act : std::exchange(after_rollback_, {})) act();
  ahead = {};
  after_commit_.clear();
  deltas_.clear();
  ended.clear();
  refs_moved.clear();
  pins_moved.clear();
  refs_added.clear();
  artifacts_dropped.clear();
  leases_over.clear();
  tenants_left_.clear();
  tries_.clear();
  events_.clear();
  events_written_ = 0;
  pool_cache.clear();
  lanes.clear();
  turns.clear();
  circuits.reset();
  due_until = {};
  catalog_changed_ = false;
  circuits_changed_ = false;
}

std::vector<Event> Session::takeEvents() {
  events_written_ = 0;
  return std::exchange(events_, {});
}

}  // namespace muster

#include "models/store/sql/session.h"

namespace muster {
namespace {

constexpr Sql kInsertEvent{
    "INSERT INTO events (at, type, pool_id, job_id, job_seq, worker_id, attempt, details) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"};

// Few events concern a node; the many that do not are spared the column.
constexpr Sql kInsertNodeEvent{
    "INSERT INTO events (at, type, node_id, details) VALUES ($1, $2, $3, $4)"};

constexpr Sql kAddCounts{
    "INSERT INTO lane_counts (lane_id, pending, claimed, done, poisoned, cancelled) "
    "VALUES ($1, $2, $3, $4, $5, $6) "
    "ON CONFLICT (lane_id) DO UPDATE SET pending = lane_counts.pending + excluded.pending, "
    "claimed = lane_counts.claimed + excluded.claimed, done = lane_counts.done + excluded.done, "
    "poisoned = lane_counts.poisoned + excluded.poisoned, "
    "cancelled = lane_counts.cancelled + excluded.cancelled"};

}  // namespace

void Session::emit(Event event) {
  event.at = now;
  if (!event.node.empty()) {
    db.execute(kInsertNodeEvent, event.at, event.type, event.node, orNull(event.details));
  } else {
    db.execute(kInsertEvent, event.at, event.type, orNull(event.pool), orNull(event.job),
               event.job_seq > 0 ? SqlValue(event.job_seq) : SqlValue(), orNull(event.worker),
               event.attempt, orNull(event.details));
  }
  events_.push_back(std::move(event));
}

std::array<std::int64_t, kJobStatuses>& Session::delta(std::int64_t lane) {
  for (Delta& entry : deltas_) {
    if (entry.lane == lane) return entry.by_status;
  }
  deltas_.push_back({lane});
  return deltas_.back().by_status;
}

void Session::flushCounts() {
  for (const Delta& entry : deltas_) {
    const auto& n = entry.by_status;
    db.execute(kAddCounts, entry.lane, n[0], n[1], n[2], n[3], n[4]);
  }
  deltas_.clear();
}

void Session::forget() {
  deltas_.clear();
  events_.clear();
  pool_cache.clear();
  lanes.clear();
  due_until = {};
}

std::vector<Event> Session::takeEvents() { return std::exchange(events_, {}); }

}  // namespace muster

// Jobs in bulk: what time, lost workers and operators do to many at once.
#include <set>
#include <string>

#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pools.h"

namespace muster {
namespace {

constexpr Sql kPromoteTelling{MUSTER_PROMOTE " RETURNING pool_id, lane_id, priority, seq"};
constexpr Sql kExpired{
    MUSTER_SELECT_JOB
    "WHERE j.status = 'pending' AND j.expires_at IS NOT NULL "
    "AND j.expires_at <= $1 ORDER BY j.expires_at, j.seq LIMIT $2 /*skip_locked j*/"};
constexpr Sql kExpiredLeases{MUSTER_SELECT_JOB
                             "WHERE j.status = 'claimed' AND j.lease_expires_at < $1 "
                             "ORDER BY j.lease_expires_at, j.seq LIMIT $2 /*skip_locked j*/"};
constexpr Sql kFinishedBefore{MUSTER_SELECT_JOB
                              "WHERE j.finished_at IS NOT NULL AND j.finished_at < $1 "
                              "ORDER BY j.finished_at, j.seq LIMIT $2 /*skip_locked j*/"};
constexpr Sql kInState{MUSTER_SELECT_JOB
                       "WHERE j.lane_id = $1 AND j.status = $2 AND (CAST($3 AS BIGINT) IS NULL OR "
                       "coalesce(j.finished_at, j.created_at) < $3) ORDER BY j.seq LIMIT $4"};
constexpr Sql kHeldBy{MUSTER_SELECT_JOB
                      "WHERE j.claimed_by = $1 AND j.status = 'claimed' "
                      "ORDER BY j.seq /*for_update j*/"};
constexpr Sql kRenewHeld{
    "UPDATE jobs SET lease_expires_at = $2, version = version + 1 "
    "WHERE seq = $1 AND status = 'claimed'"};
// Poisoned, and no living job has the same unique_key.
constexpr Sql kRetryable{MUSTER_SELECT_JOB
                         "WHERE j.lane_id = $1 AND j.status = 'poisoned' AND (j.unique_key IS NULL "
                         "OR NOT EXISTS (SELECT 1 FROM jobs t WHERE t.pool_id = j.pool_id "
                         "AND t.unique_key = j.unique_key AND t.status IN ('pending', 'claimed'))) "
                         "ORDER BY j.seq LIMIT $2"};

}  // namespace

std::vector<Jobs::Row> Jobs::readAll(SqlCursor rows) {
  std::vector<Row> all;
  while (rows.next()) all.push_back(readRow(*rows, false));
  return all;
}

std::int64_t Jobs::promoteDue(int limit) {
  if (s_.turns.empty()) return s_.db.execute(kPromote, s_.now, limit);
  std::int64_t promoted = 0;
  auto rows = s_.db.query(kPromoteTelling, s_.now, limit);
  for (; rows.next(); ++promoted) {
    s_.turns.jobReady(PoolId(rows->string(0)), rows->integer(1),
                      {rows->integer(2), rows->integer(3)});
  }
  return promoted;
}

std::int64_t Jobs::expirePending(int limit) {
  auto rows = readAll(s_.db.query(kExpired, s_.now, limit));
  for (Row& row : rows) cancelPending(row, event_type::kJobExpired, "expired");
  return static_cast<std::int64_t>(rows.size());
}

std::int64_t Jobs::expireLeases(int limit) {
  auto rows = readAll(s_.db.query(kExpiredLeases, s_.now, limit));
  for (Row& row : rows) loseTry(row, "lease_expired", true);
  return static_cast<std::int64_t>(rows.size());
}

std::int64_t Jobs::removeFinished(Time before, int limit) {
  const auto rows = readAll(s_.db.query(kFinishedBefore, before, limit));
  for (const Row& row : rows) removeRow(row);
  return static_cast<std::int64_t>(rows.size());
}

std::int64_t Jobs::retryPoisoned(const PoolId& pool, int limit) {
  std::int64_t retried = 0;
  for (const std::int64_t lane : lanesOf(pool, std::nullopt)) {
    // Of several with one unique_key only the first is retried, so look again until there are none.
    for (bool found = true; found && retried < limit;) {
      std::set<std::string> keys;
      auto rows = readAll(s_.db.query(kRetryable, lane, limit - retried));
      found = !rows.empty();
      for (Row& row : rows) {
        if (!row.job.unique_key.empty() && !keys.insert(row.job.unique_key).second) continue;
        retryRow(row);
        ++retried;
      }
    }
  }
  return retried;
}

std::int64_t Jobs::purge(const PoolId& pool, const std::vector<JobStatus>& statuses,
                         std::optional<Millis> older_than, int limit) {
  std::optional<Time> before;
  if (older_than) before = s_.now - *older_than;
  std::int64_t removed = 0;
  for (const std::int64_t lane : lanesOf(pool, std::nullopt)) {
    for (const JobStatus status : statuses) {
      const auto rows = readAll(s_.db.query(kInState, lane, name(status), before, limit - removed));
      for (const Row& row : rows) removeRow(row);
      removed += static_cast<std::int64_t>(rows.size());
    }
  }
  return removed;
}

std::vector<Lease> Jobs::leasesOf(const std::string& worker) {
  std::vector<Lease> leases;
  for (const Row& row : readAll(s_.db.query(kHeldBy, worker))) {
    leases.push_back({row.job.id, *row.job.lease_expires_at, row.job.cancel_requested});
  }
  return leases;
}

std::vector<Lease> Jobs::renewByWorker(const std::string& worker) {
  std::vector<Lease> leases;
  for (const Row& row : readAll(s_.db.query(kHeldBy, worker))) {
    if (*row.job.lease_expires_at < s_.now) continue;  // past its deadline: not renewed
    const auto pool = Pools(s_).find(row.job.pool);
    const Millis lease = pool ? pool->settings.lease() : s_.rules.pool_defaults.lease();
    const Time until = std::max(s_.now + lease, *row.job.lease_expires_at);
    s_.db.post(kRenewHeld, row.seq, until);
    leases.push_back({row.job.id, until, row.job.cancel_requested});
  }
  return leases;
}

std::int64_t Jobs::releaseByWorker(const std::string& worker, std::string_view reason,
                                   const FailureReport& report) {
  auto rows = readAll(s_.db.query(kHeldBy, worker));
  for (Row& row : rows) loseTry(row, reason, reason == "worker_lost", report);
  return static_cast<std::int64_t>(rows.size());
}

}  // namespace muster

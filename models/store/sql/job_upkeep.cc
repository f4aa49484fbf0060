// Jobs in bulk: what time, lost workers and operators do to many at once.
#include <algorithm>
#include <map>
#include <string>

#include "models/store/sql/flow_retrying.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/flow_settling.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/resource_refs.h"

namespace muster {
namespace {

// Delayed jobs that are due by $1, at most $2, can be claimed. PostgreSQL may look more than once
// for what stands behind IN, and would make up with others for what it has changed meanwhile.
#define MUSTER_PROMOTE(in, skip_locked)                                                    \
  "UPDATE jobs SET delayed = 0 WHERE seq " in                                              \
  "(SELECT seq FROM jobs WHERE status = 'pending' AND delayed = 1 AND available_at <= $1 " \
  "ORDER BY available_at LIMIT $2" skip_locked " RETURNING pool_id, lane_id, priority, seq"
constexpr Sql kPromote{MUSTER_PROMOTE("IN ", ")")};
constexpr Sql kPromoteBesideOthers{MUSTER_PROMOTE("= ANY (ARRAY", " FOR UPDATE SKIP LOCKED))")};
#define MUSTER_EXPIRED(and_pending)                                                    \
  MUSTER_SELECT_JOB                                                                    \
  "WHERE j.status IN ('blocked', 'pending') AND j.expires_at IS NOT NULL " and_pending \
  "AND j.expires_at <= $1 ORDER BY j.expires_at, j.seq LIMIT $2 /*skip_locked j*/"
constexpr Sql kExpired{MUSTER_EXPIRED("")};
constexpr Sql kExpiredPending{MUSTER_EXPIRED("AND j.status = 'pending' ")};
constexpr Sql kExpiredLeases{MUSTER_SELECT_JOB
                             "WHERE j.status = 'claimed' AND j.lease_expires_at < $1 "
                             "ORDER BY j.lease_expires_at, j.seq LIMIT $2 /*skip_locked j*/"};
constexpr Sql kFinishedBefore{MUSTER_SELECT_JOB
                              "WHERE j.finished_at IS NOT NULL AND j.finished_at < $1 "
                              "AND (j.links IS NULL OR (j.links & 1) = 0) "
                              "ORDER BY j.finished_at, j.seq LIMIT $2 /*skip_locked j*/"};
constexpr Sql kHeldBy{MUSTER_SELECT_JOB
                      "WHERE j.claimed_by = $1 AND j.status = 'claimed' "
                      "ORDER BY j.seq /*for_update j*/"};
constexpr Sql kRenewHeld{
    "UPDATE jobs SET lease_expires_at = $2, version = version + 1 "
    "WHERE seq = $1 AND status = 'claimed'"};
// With the class of the last try as the column behind those of the job.
constexpr Sql kNextOfLane{"SELECT " MUSTER_JOB_COLUMNS
                          ", (SELECT a.error_class FROM attempts a WHERE a.seq = j.seq "
                          "ORDER BY a.attempt_id DESC LIMIT 1) FROM jobs j "
                          "WHERE j.lane_id = $1 AND j.status = $2 AND j.seq > $3 "
                          "ORDER BY j.seq LIMIT $4"};
constexpr int kClassColumn = 26;

}  // namespace

std::vector<Jobs::Row> Jobs::readAll(SqlCursor rows) {
  std::vector<Row> all;
  while (rows.next()) all.push_back(readRow(*rows, false));
  return all;
}

std::int64_t Jobs::promoteDue(int limit) {
  std::int64_t promoted = 0;
  auto rows = s_.db.query(s_.db.hasPeers() ? kPromoteBesideOthers : kPromote, s_.now, limit);
  for (; rows.next(); ++promoted) {
    s_.turns.jobReady(PoolId(rows->string(0)), rows->integer(1),
                      {rows->integer(2), rows->integer(3)});
  }
  return promoted;
}

std::int64_t Jobs::expirePending(int limit, bool with_blocked) {
  auto rows = readAll(s_.db.query(with_blocked ? kExpired : kExpiredPending, s_.now, limit));
  for (Row& row : rows) cancelWaiting(row, event_type::kJobExpired, "expired");
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

bool BulkFilter::matches(const Job& job, std::string_view last_class) const {
  if (error_class && last_class != *error_class) return false;
  if (error_contains && job.error.find(*error_contains) == std::string::npos) return false;
  if (created_after && job.created_at <= *created_after) return false;
  if (created_before && job.created_at >= *created_before) return false;
  if (failed_after && (!job.finished_at || *job.finished_at <= *failed_after)) return false;
  return !ended_before || (job.finished_at && *job.finished_at < *ended_before);
}

template <class Act>
BulkStep Jobs::walk(const PoolId& pool, const BulkFilter& filter, const BulkPlace& from, int looks,
                    std::int64_t most, Act act) {
  BulkStep step;
  BulkPlace place = from;
  auto lanes = lanesOf(pool, filter.tenant);
  std::sort(lanes.begin(), lanes.end());
  for (const std::int64_t lane : lanes) {
    if (lane < place.lane) continue;  // it was seen to before
    if (lane > place.lane) place = {lane};
    for (; place.status < filter.statuses.size(); place = {lane, place.status + 1}) {
      const auto status = name(filter.statuses[place.status]);
      std::vector<Row> rows;
      std::vector<std::string> classes;
      {
        auto found = s_.db.query(kNextOfLane, lane, status, place.seq, looks);
        while (found.next()) {
          rows.push_back(readRow(*found, false));
          classes.push_back(found->string(kClassColumn));
        }
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (step.count == most) return step;
        place.seq = rows[i].seq;
        if (filter.matches(rows[i].job, classes[i]) && act(rows[i])) ++step.count;
      }
      looks -= static_cast<int>(rows.size());
      if (looks <= 0) {
        if (step.count < most) step.next = place;
        return step;
      }
    }
  }
  return step;
}

BulkStep Jobs::retryMany(const PoolId& pool, const BulkFilter& filter, const BulkPlace& from,
                         int looks, std::int64_t most) {
  FlowSettling(s_).settleEnded();
  ResourceRefs refs(s_);
  refs.settle();
  std::map<std::int64_t, std::vector<std::int64_t>> in_flows;
  BulkStep step = walk(pool, filter, from, looks, most, [&](Row& row) {
    // One that would not find what it refers to stays as it is.
    if ((row.links & job_link::kHasRefs) != 0 && !refs.checkLivesAgain(row.seq)) return false;
    if ((row.links & job_link::kInFlow) != 0) {
      const auto flow = FlowRows(s_).ofJob(row.seq);
      if (flow) in_flows[flow->seq].push_back(row.seq);
      return flow.has_value();
    }
    // Of several with one unique_key the first lives from here on.
    if (livingTwin(row.job)) return false;
    retryRow(row);
    return true;
  });
  for (const auto& [seq, jobs] : in_flows) {
    auto flow = FlowRows(s_).at(seq);
    // One that is being cancelled, or whose keys are taken, is passed over as a single job is.
    const auto count = FlowRetrying(s_).retry(*flow, jobs);
    if (!count) step.count -= static_cast<std::int64_t>(jobs.size());
  }
  refs.settle();
  return step;
}

BulkStep Jobs::purgeMany(const PoolId& pool, const BulkFilter& filter, const BulkPlace& from,
                         int looks, std::int64_t most, bool with_flow_jobs) {
  FlowSettling(s_).settleEnded();
  ResourceRefs(s_).settle();
  return walk(pool, filter, from, looks, most, [&](const Row& row) {
    if ((row.links & job_link::kInFlow) != 0 && !with_flow_jobs) return false;
    removeRow(row);
    return true;
  });
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

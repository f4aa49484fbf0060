#pragma once

#include "models/ids.h"
#include "models/result.h"
#include "models/store/sql/sql_connection.h"

// The columns of a job in the order Jobs::readRow() takes them. Macros, because statements are
// literals that are put together at compile time.
#define MUSTER_JOB_COLUMNS                                                               \
  "j.seq, j.lane_id, j.id, j.pool_id, j.status, j.priority, j.attempts, j.max_retries, " \
  "j.crashes, j.version, j.available_at, j.created_at, j.expires_at, j.claimed_at, "     \
  "j.finished_at, j.claimed_by, j.lease_token, j.lease_expires_at, j.cancel_requested, " \
  "j.tenant, j.unique_key, j.error, j.reason, j.progress, j.progress_message"

#define MUSTER_SELECT_JOB "SELECT " MUSTER_JOB_COLUMNS " FROM jobs j "

// `jobs` is the table, or a choice from it.
#define MUSTER_SELECT_JOB_WITH_DATA_OF(jobs)                                               \
  "SELECT " MUSTER_JOB_COLUMNS                                                             \
  ", p.data, p.placement, p.affinity, p.resource_refs, p.traceparent, p.retry, r.result, " \
  "r.artifacts "                                                                           \
  "FROM " jobs " j JOIN job_payloads p ON p.seq = j.seq LEFT JOIN job_results r ON r.seq = j.seq "
#define MUSTER_SELECT_JOB_WITH_DATA MUSTER_SELECT_JOB_WITH_DATA_OF("jobs")

// The rest of the columns, of a job that has no result yet.
#define MUSTER_PAYLOAD_OF_UNFINISHED \
  ", p.data, p.placement, p.affinity, p.resource_refs, p.traceparent, p.retry, NULL, NULL"

namespace muster {

inline Error noJob(const JobId& id) {
  return {ErrorCode::kNotFound, "there is no job '" + id.str() + "'"};
}

// The first $3 jobs of the lane $1 that can be claimed.
inline constexpr Sql kHeadOfLane{MUSTER_SELECT_JOB_WITH_DATA
                                 "WHERE j.lane_id = $1 AND j.status = 'pending' AND j.delayed = 0 "
                                 "AND (j.expires_at IS NULL OR j.expires_at > $2) "
                                 "ORDER BY j.priority DESC, j.seq LIMIT $3"};

}  // namespace muster

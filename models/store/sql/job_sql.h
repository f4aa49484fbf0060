#pragma once

#include "models/ids.h"
#include "models/result.h"
#include "models/store/sql/sql_connection.h"

// The columns of a job in the order Jobs::readRow() takes them. Macros, because statements are
// literals that are put together at compile time.
// SQLite knows only the table's own name in what an UPDATE returns.
#define MUSTER_JOB_COLUMNS_OF(j)                                                               \
  j ".seq, " j ".lane_id, " j ".id, " j ".pool_id, " j ".status, " j ".priority, " j           \
    ".attempts, " j ".max_retries, " j ".crashes, " j ".version, " j ".available_at, " j       \
    ".created_at, " j ".expires_at, " j ".claimed_at, " j ".finished_at, " j ".claimed_by, " j \
    ".lease_token, " j ".lease_expires_at, " j ".cancel_requested, " j ".tenant, " j           \
    ".unique_key, " j ".error, " j ".reason, " j ".progress, " j ".progress_message, " j ".links"
#define MUSTER_JOB_COLUMNS MUSTER_JOB_COLUMNS_OF("j")

// When the job became work: one of a flow may have waited for others before.
#define MUSTER_WORK_SINCE \
  "CASE WHEN j.links IS NULL OR (j.links & 1) = 0 THEN j.created_at ELSE j.available_at END"

#define MUSTER_SELECT_JOB "SELECT " MUSTER_JOB_COLUMNS " FROM jobs j "

#define MUSTER_SELECT_JOB_WITH_DATA                                                        \
  "SELECT " MUSTER_JOB_COLUMNS                                                             \
  ", p.data, p.placement, p.affinity, p.resource_refs, p.traceparent, p.retry, r.result, " \
  "r.artifacts "                                                                           \
  "FROM jobs j JOIN job_payloads p ON p.seq = j.seq LEFT JOIN job_results r ON r.seq = j.seq "

// PostgreSQL: claimable jobs with what they were given, of which only so much is sent as fits into
// $4 bytes, and that of the first job in any case. `chosen` is a choice of rows of `jobs`, locked,
// with the order `place` in which they would be taken. The data of the others is NULL.
#define MUSTER_SELECT_JOBS_THAT_FIT(chosen, place)                                            \
  "SELECT " MUSTER_JOB_COLUMNS                                                                \
  ", CASE WHEN j.upto <= $4 OR j.upto = j.own THEN j.data END, j.placement, j.affinity, "     \
  "j.resource_refs, j.traceparent, j.retry, NULL, NULL FROM (SELECT sized.*, sum(sized.own) " \
  "OVER (ORDER BY " place                                                                     \
  ") AS upto FROM (SELECT chosen.*, d.data, d.placement, d.affinity, d.resource_refs, "       \
  "d.traceparent, d.retry, octet_length(d.data) AS own FROM " chosen                          \
  " JOIN job_payloads d ON d.seq = chosen.seq) AS sized) AS j "

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

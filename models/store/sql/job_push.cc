// Jobs come into being.
#include <unordered_map>

#include "models/json/job_json.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pools.h"

namespace muster {
namespace {

constexpr Sql kInsertJobRow{
    "INSERT INTO jobs (seq, id, lane_id, pool_id, status, delayed, priority, attempts, "
    "max_retries, "
    "crashes, version, available_at, created_at, expires_at, cancel_requested, tenant, unique_key) "
    "VALUES ($1, $2, $3, $4, 'pending', $5, $6, 0, $7, 0, 1, $8, $9, $10, 0, $11, $12)"};
constexpr Sql kInsertPayload{
    "INSERT INTO job_payloads (seq, data, placement, affinity, resource_refs, traceparent, "
    "retry) VALUES ($1, $2, $3, $4, $5, $6, $7)"};
constexpr Sql kFindLiving{MUSTER_SELECT_JOB_WITH_DATA
                          "WHERE j.pool_id = $1 AND j.unique_key = $2 "
                          "AND j.status IN ('blocked', 'pending', 'claimed')"};

// Of its data: SQLite 3.40 has no octet_length(), PostgreSQL no length of a BLOB.
#define MUSTER_SIZE_OF_LIVING(size)                                                          \
  "SELECT " size                                                                             \
  " FROM jobs j JOIN job_payloads p ON p.seq = j.seq WHERE j.pool_id = $1 AND j.unique_key " \
  "= $2 AND j.status IN ('blocked', 'pending', 'claimed')"
constexpr Sql kSizeOfLiving{MUSTER_SIZE_OF_LIVING("length(CAST(p.data AS BLOB))")};
constexpr Sql kSizeOfLivingThere{MUSTER_SIZE_OF_LIVING("octet_length(p.data)")};

}  // namespace

std::size_t Jobs::twinBytes(const PoolId& pool, const std::vector<NewJob>& jobs) {
  std::unordered_map<std::string_view, std::size_t> sizes;
  std::size_t bytes = 0;
  for (const NewJob& job : jobs) {
    if (job.unique_key.empty()) continue;
    const auto [known, is_first] = sizes.try_emplace(job.unique_key, job.data.size());
    if (is_first) {
      auto living =
          s_.db.query(s_.db.hasPeers() ? kSizeOfLivingThere : kSizeOfLiving, pool, job.unique_key);
      if (!living.next()) continue;
      known->second = static_cast<std::size_t>(living->integer(0));
    }
    bytes += known->second;
  }
  return bytes;
}

Jobs::Pushed Jobs::push(const Pool& pool, const NewJob& given) {
  if (!given.unique_key.empty()) {
    std::optional<Row> twin;
    {
      auto living = s_.db.query(kFindLiving, pool.id, given.unique_key);
      if (living.next()) twin = readRow(*living, true);
    }
    if (twin) {
      const bool expired = isWaiting(twin->job.status) && twin->job.expires_at &&
                           *twin->job.expires_at <= s_.now;
      if (!expired) return Pushed{std::move(twin->job), false};
      twin = hold(twin->job.id, false);
      if (twin && isWaiting(twin->job.status)) {
        cancelWaiting(*twin, event_type::kJobExpired, "expired");
      }
    }
  }
  Row row;
  Job& job = row.job;
  job.id = JobId(s_.ids.next(s_.now));
  job.pool = pool.id;
  job.data = given.data;
  job.priority = given.priority;
  job.max_retries = given.max_retries.value_or(static_cast<int>(*pool.settings.max_retries));
  job.available_at = std::max(given.available_at.value_or(s_.now + given.delay), s_.now);
  job.created_at = s_.now;
  job.expires_at = given.expires_at;
  job.tenant = given.tenant;
  job.unique_key = given.unique_key;
  job.placement = writePlacement(given.placement);
  job.affinity = given.affinity;
  job.resource_refs = given.resource_refs;
  job.traceparent = given.traceparent;
  job.retry = given.retry;
  job.effect_key = sha256Hex(job.id.str(), job.data);

  row.lane = Pools(s_).laneFor(pool.id, job.tenant, job.placement);
  const bool delayed = job.available_at > s_.now;
  row.seq = s_.db.insert(kInsertJobRow, job.id, row.lane, job.pool, delayed, job.priority,
                         job.max_retries, job.available_at, job.created_at, job.expires_at,
                         orNull(job.tenant), orNull(job.unique_key));
  s_.db.post(kInsertPayload, row.seq, job.data, orNull(job.placement), orNull(job.affinity),
             orNull(job.resource_refs), orNull(job.traceparent), orNull(job.retry));
  s_.countNew(row, JobStatus::kPending);
  emit(event_type::kJobCreated, row);
  return Pushed{std::move(job), true};
}

}  // namespace muster

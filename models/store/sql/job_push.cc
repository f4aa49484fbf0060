// Jobs come into being.
#include <unordered_map>

#include "models/json/job_json.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/sql_array.h"

namespace muster {
namespace {

#define MUSTER_INSERT_JOBS                                                                      \
  "INSERT INTO jobs (attempts, crashes, version, cancel_requested, seq, id, lane_id, pool_id, " \
  "status, delayed, priority, max_retries, available_at, created_at, expires_at, finished_at, " \
  "tenant, unique_key, reason, links) "
constexpr Sql kInsertJobRow{MUSTER_INSERT_JOBS
                            "VALUES (0, 0, 1, 0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, "
                            "$12, $13, $14, $15, $16)"};
constexpr Sql kInsertPayload{
    "INSERT INTO job_payloads (seq, data, placement, affinity, resource_refs, traceparent, "
    "retry) VALUES ($1, $2, $3, $4, $5, $6, $7)"};
// PostgreSQL: many rows of a table in one step.
constexpr Sql kInsertJobRows{
    MUSTER_INSERT_JOBS
    "SELECT 0, 0, 1, 0, r.* FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS TEXT[]), "
    "CAST($3 AS BIGINT[]), CAST($4 AS TEXT[]), CAST($5 AS TEXT[]), CAST($6 AS INTEGER[]), "
    "CAST($7 AS INTEGER[]), CAST($8 AS INTEGER[]), CAST($9 AS BIGINT[]), CAST($10 AS BIGINT[]), "
    "CAST($11 AS BIGINT[]), CAST($12 AS BIGINT[]), CAST($13 AS TEXT[]), CAST($14 AS TEXT[]), "
    "CAST($15 AS TEXT[]), CAST($16 AS BIGINT[])) AS r"};
constexpr Sql kInsertPayloads{
    "INSERT INTO job_payloads (seq, data, placement, affinity, resource_refs, traceparent, "
    "retry) SELECT r.* FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS TEXT[]), CAST($3 AS TEXT[]), "
    "CAST($4 AS TEXT[]), CAST($5 AS TEXT[]), CAST($6 AS TEXT[]), CAST($7 AS TEXT[])) AS r"};
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

bool isDelayed(const Job& job) {
  return job.status == JobStatus::kPending && job.available_at > job.created_at;
}

std::optional<std::int64_t> linksOf(const JobRow& row) {
  return row.links != 0 ? std::optional(row.links) : std::nullopt;
}

std::optional<std::int64_t> millisOf(const std::optional<Time>& time) {
  return time ? std::optional(toMillis(*time)) : std::nullopt;
}

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

std::optional<Jobs::Row> Jobs::liveTwin(const PoolId& pool, const std::string& unique_key) {
  if (unique_key.empty()) return std::nullopt;
  std::optional<Row> twin;
  {
    auto living = s_.db.query(kFindLiving, pool, unique_key);
    if (living.next()) twin = readRow(*living, true);
  }
  if (!twin) return std::nullopt;
  const bool expired =
      isWaiting(twin->job.status) && twin->job.expires_at && *twin->job.expires_at <= s_.now;
  if (!expired) return twin;
  twin = hold(twin->job.id, false);
  if (twin && isWaiting(twin->job.status)) {
    cancelWaiting(*twin, event_type::kJobExpired, "expired");
  }
  return std::nullopt;
}

Jobs::Row Jobs::newRow(const Pool& pool, const NewJob& given, std::vector<PinRef> refs) {
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

  if (given.affinity.empty() && refs.empty()) {
    row.lane = Pools(s_).laneFor(pool.id, job.tenant, job.placement);
  } else {
    Pins(s_).wish(row, given, std::move(refs));
  }
  return row;
}

Jobs::Pushed Jobs::push(const Pool& pool, const NewJob& given, std::int64_t links,
                        std::vector<PinRef> refs) {
  if (auto twin = liveTwin(pool.id, given.unique_key)) {
    return Pushed{std::move(twin->job), false};
  }
  Row row = newRow(pool, given, std::move(refs));
  row.links |= links;
  insert({&row, 1});
  return Pushed{std::move(row.job), true, row.seq};
}

void Jobs::insert(std::span<Row> rows) {
  for (Row& row : rows) {
    if (row.wish) Pins(s_).choose(row);
  }
  if (s_.db.hasPeers() && rows.size() > 1) {
    insertTogether(rows);
  } else {
    for (Row& row : rows) {
      const Job& job = row.job;
      row.seq = s_.db.insert(kInsertJobRow, job.id, row.lane, job.pool, name(job.status),
                             isDelayed(job), job.priority, job.max_retries, job.available_at,
                             job.created_at, job.expires_at, job.finished_at, orNull(job.tenant),
                             orNull(job.unique_key), orNull(job.reason), linksOf(row));
      s_.db.post(kInsertPayload, row.seq, job.data, orNull(job.placement), orNull(job.affinity),
                 orNull(job.resource_refs), orNull(job.traceparent), orNull(job.retry));
    }
  }
  for (const Row& row : rows) {
    const bool is_work = row.job.status == JobStatus::kPending;
    s_.countNew(row, row.job.status);
    emit(event_type::kJobCreated, row, is_work ? "" : R"({"blocked":true})");
  }
  for (Row& row : rows) {
    if (row.wish) Pins(s_).keep(row);
  }
}

void Jobs::insertTogether(std::span<Row> rows) {
  const auto numbers = s_.db.reserveNumbers(rows.size());
  SqlArray seqs, ids, lanes, pools, statuses, delayed, priorities, retries, available, created,
      expires, finished, tenants, keys, reasons, links;
  SqlArray data, placements, affinities, refs, parents, policies;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    const Job& job = row.job;
    row.seq = numbers[i];
    seqs.addOrNull(std::optional(row.seq));
    ids.add(job.id.str());
    lanes.addOrNull(std::optional(row.lane));
    pools.add(job.pool.str());
    statuses.add(name(job.status));
    delayed.addOrNull(std::optional(isDelayed(job) ? 1 : 0));
    priorities.addOrNull(std::optional(job.priority));
    retries.addOrNull(std::optional(job.max_retries));
    available.addOrNull(std::optional(toMillis(job.available_at)));
    created.addOrNull(std::optional(toMillis(job.created_at)));
    expires.addOrNull(millisOf(job.expires_at));
    finished.addOrNull(millisOf(job.finished_at));
    tenants.addOrNull(job.tenant);
    keys.addOrNull(job.unique_key);
    reasons.addOrNull(job.reason);
    links.addOrNull(linksOf(row));
    data.add(job.data);
    placements.addOrNull(job.placement);
    affinities.addOrNull(job.affinity);
    refs.addOrNull(job.resource_refs);
    parents.addOrNull(job.traceparent);
    policies.addOrNull(job.retry);
  }
  s_.db.post(kInsertJobRows, seqs.text(), ids.text(), lanes.text(), pools.text(), statuses.text(),
             delayed.text(), priorities.text(), retries.text(), available.text(), created.text(),
             expires.text(), finished.text(), tenants.text(), keys.text(), reasons.text(),
             links.text());
  s_.db.post(kInsertPayloads, seqs.text(), data.text(), placements.text(), affinities.text(),
             refs.text(), parents.text(), policies.text());
}

}  // namespace muster

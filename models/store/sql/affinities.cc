#include "models/store/sql/affinities.h"

#include "models/json/json_writer.h"
#include "models/store/sql/held_resources.h"
#include "models/store/sql/holders.h"
#include "models/store/sql/pins.h"

namespace muster {
namespace {

#define MUSTER_SELECT_AFFINITY "SELECT " MUSTER_AFFINITY_COLUMNS " FROM affinities a "
constexpr Sql kFindAffinity{MUSTER_SELECT_AFFINITY "WHERE a.tenant = $1 AND a.affinity_key = $2"};
constexpr Sql kHoldAffinity{MUSTER_SELECT_AFFINITY
                            "WHERE a.tenant = $1 AND a.affinity_key = $2 /*for_update a*/"};
constexpr Sql kHoldAffinityAt{MUSTER_SELECT_AFFINITY "WHERE a.affinity_seq = $1 /*for_update a*/"};
constexpr Sql kMakeAffinity{
    "INSERT INTO affinities (affinity_seq, tenant, affinity_key, state, holder, worker_id, host, "
    "acquired_at, expires_at, ttl_ms, failures, metadata, version) VALUES ($1, $2, $3, 'unbound', "
    "'', '', '', $4, $5, $6, 0, '', 1) ON CONFLICT DO NOTHING"};
constexpr Sql kListAffinities{
    MUSTER_SELECT_AFFINITY
    "WHERE a.affinity_seq > $1 AND a.state <> 'unbound' "
    "AND (CAST($2 AS TEXT) IS NULL OR a.tenant = $2) AND ($3 = '' OR a.state = $3) "
    "ORDER BY a.affinity_seq LIMIT $4"};
constexpr Sql kListOfHolder{
    MUSTER_SELECT_AFFINITY
    "WHERE a.holder = $5 AND a.holder <> '' AND a.affinity_seq > $1 AND a.state <> 'unbound' "
    "AND (CAST($2 AS TEXT) IS NULL OR a.tenant = $2) AND ($3 = '' OR a.state = $3) "
    "ORDER BY a.affinity_seq LIMIT $4"};
constexpr Sql kCountJobsOfKey{
    "SELECT coalesce(sum(CASE WHEN j.status = 'claimed' THEN 1 ELSE 0 END), 0), count(*) "
    "FROM job_pins p CROSS JOIN jobs j WHERE p.affinity_seq = $1 "
    "AND p.affinity_seq IS NOT NULL AND p.ended = 0 AND j.seq = p.seq"};
constexpr Sql kHasLivingJobs{
    "SELECT 1 FROM job_pins WHERE affinity_seq = $1 AND affinity_seq IS NOT NULL AND ended = 0 "
    "LIMIT 1"};
constexpr Sql kBind{
    "UPDATE affinities SET state = $2, holder = $3, worker_id = $4, host = $5, acquired_at = $6, "
    "expires_at = $7, failures = 0, version = $8 WHERE affinity_seq = $1"};
constexpr Sql kTouchAffinity{"UPDATE affinities SET expires_at = $2 WHERE affinity_seq = $1"};
constexpr Sql kSaveDetails{
    "UPDATE affinities SET ttl_ms = $2, expires_at = $3, metadata = $4, version = $5 "
    "WHERE affinity_seq = $1"};
constexpr Sql kSetAffinityState{
    "UPDATE affinities SET state = $3, version = version + 1 WHERE holder = $1 AND holder <> '' "
    "AND state = $2"};
constexpr Sql kHoldOfHolder{MUSTER_SELECT_AFFINITY
                            "WHERE a.holder = $1 AND a.holder <> '' ORDER BY a.affinity_seq "
                            "LIMIT $2 /*for_update a*/"};
constexpr Sql kHasAny{"SELECT 1 FROM affinities WHERE holder = $1 AND holder <> '' LIMIT 1"};
constexpr Sql kHoldKeyOfJob{
    MUSTER_SELECT_AFFINITY
    "JOIN job_pins p ON p.affinity_seq = a.affinity_seq WHERE p.seq = $1 /*for_update a*/"};
constexpr Sql kSetFailures{"UPDATE affinities SET failures = $2 WHERE affinity_seq = $1"};
constexpr Sql kDueAffinities{MUSTER_SELECT_AFFINITY
                             "WHERE a.expires_at <= $1 ORDER BY a.expires_at, a.affinity_seq "
                             "LIMIT $2 /*for_update a*/"};
constexpr Sql kForgetAffinity{"DELETE FROM affinities WHERE affinity_seq = $1"};

}  // namespace

AffinityRow Affinities::read(const SqlRows& row, int first) {
  AffinityRow out;
  Affinity& affinity = out.affinity;
  out.seq = row.integer(first);
  affinity.tenant = row.string(first + 1);
  affinity.key = row.string(first + 2);
  affinity.state = parseAffinityState(row.text(first + 3)).value_or(AffinityState::kUnbound);
  affinity.holder = parseHolder(row.text(first + 4)).value_or(Holder{});
  affinity.worker = row.string(first + 5);
  affinity.host = row.string(first + 6);
  affinity.acquired_at = row.time(first + 7);
  affinity.expires_at = row.time(first + 8);
  affinity.ttl = Millis(row.integer(first + 9));
  affinity.failures = static_cast<int>(row.integer(first + 10));
  affinity.metadata = row.string(first + 11);
  affinity.version = row.integer(first + 12);
  return out;
}

std::optional<AffinityRow> Affinities::find(const std::string& tenant, const std::string& key) {
  auto rows = s_.db.query(kFindAffinity, tenant, key);
  return rows.next() ? std::optional(read(*rows)) : std::nullopt;
}

std::optional<AffinityRow> Affinities::hold(const std::string& tenant, const std::string& key) {
  auto rows = s_.db.query(kHoldAffinity, tenant, key);
  return rows.next() ? std::optional(read(*rows)) : std::nullopt;
}

std::optional<AffinityRow> Affinities::holdAt(std::int64_t seq) {
  auto rows = s_.db.query(kHoldAffinityAt, seq);
  return rows.next() ? std::optional(read(*rows)) : std::nullopt;
}

AffinityRow Affinities::holdOrMake(const std::string& tenant, const std::string& key) {
  if (auto known = hold(tenant, key)) return *std::move(known);
  const Millis ttl = s_.rules.affinities.ttl;
  s_.db.insert(kMakeAffinity, tenant, key, s_.now, s_.now + ttl, ttl.count());
  auto made = hold(tenant, key);  // by us, or just now by another
  if (!made) throw StoreError(StoreError::Kind::kConflict, "the key was forgotten meanwhile");
  return *std::move(made);
}

Affinities::Page Affinities::list(const Filter& filter, std::int64_t after, int limit) {
  Page page;
  const std::string_view state = filter.state ? name(*filter.state) : std::string_view();
  auto rows =
      filter.holder.empty()
          ? s_.db.query(kListAffinities, after, filter.tenant, state, limit + 1)
          : s_.db.query(kListOfHolder, after, filter.tenant, state, limit + 1, filter.holder);
  while (rows.next()) {
    if (page.rows.size() == static_cast<std::size_t>(limit)) {
      page.more = true;
      break;
    }
    page.rows.push_back(read(*rows));
  }
  return page;
}

void Affinities::countJobs(AffinityRow& row) {
  auto rows = s_.db.query(kCountJobsOfKey, row.seq);
  rows.next();
  row.affinity.inflight_count = rows->integer(0);
  row.affinity.waiting_count = rows->integer(1) - rows->integer(0);
}

bool Affinities::hasLivingJobs(std::int64_t seq) { return s_.db.query(kHasLivingJobs, seq).next(); }

bool Affinities::hasAny(const std::string& holder) { return s_.db.query(kHasAny, holder).next(); }

void Affinities::emit(std::string_view type, const AffinityRow& row, std::string_view reason) {
  Event event;
  event.type = type;
  event.worker = row.affinity.worker;
  JsonWriter details;
  details.beginObject().field("key", row.affinity.key);
  if (!row.affinity.tenant.empty()) details.field("tenant", row.affinity.tenant);
  details.field("holder", row.affinity.holder.text());
  if (!reason.empty()) details.field("reason", reason);
  event.details = details.endObject().take();
  s_.emit(std::move(event));
}

void Affinities::bind(AffinityRow& row, const Holder& holder, const std::string& worker,
                      const std::string& host, std::int64_t claimed) {
  Affinity& affinity = row.affinity;
  affinity.state = AffinityState::kActive;
  affinity.holder = holder;
  affinity.worker = worker;
  affinity.host = host;
  affinity.acquired_at = s_.now;
  affinity.expires_at = s_.now + affinity.ttl;
  affinity.failures = 0;
  affinity.version += 1;
  s_.db.post(kBind, row.seq, name(affinity.state), holder.text(), worker, host,
             affinity.acquired_at, affinity.expires_at, affinity.version);
  if (holder.kind == Holder::Kind::kHost) HeldResources::noteHolder(s_, holder);
  emit(event_type::kAffinityBound, row);
  Pins(s_).moveWaiting(row, claimed);
}

void Affinities::touch(AffinityRow& row) {
  row.affinity.expires_at = s_.now + row.affinity.ttl;
  s_.db.post(kTouchAffinity, row.seq, row.affinity.expires_at);
}

void Affinities::saveDetails(AffinityRow& row) {
  Affinity& affinity = row.affinity;
  affinity.expires_at = s_.now + affinity.ttl;
  affinity.version += 1;
  s_.db.post(kSaveDetails, row.seq, affinity.ttl.count(), affinity.expires_at, affinity.metadata,
             affinity.version);
}

void Affinities::release(AffinityRow& row, std::string_view reason) {
  emit(event_type::kAffinityReleased, row, reason);
  Affinity& affinity = row.affinity;
  affinity.state = AffinityState::kUnbound;
  affinity.holder = {};
  affinity.worker.clear();
  affinity.host.clear();
  affinity.ttl = s_.rules.affinities.ttl;
  affinity.metadata.clear();
  affinity.version += 1;
  s_.db.post(kBind, row.seq, name(affinity.state), "", "", "", s_.now, s_.now + affinity.ttl,
             affinity.version);
  s_.db.post(kSaveDetails, row.seq, affinity.ttl.count(), s_.now + affinity.ttl, "",
             affinity.version);
  Pins(s_).moveWaiting(row);
}

void Affinities::setState(const std::string& holder, AffinityState from, AffinityState to) {
  s_.db.post(kSetAffinityState, holder, name(from), name(to));
}

int Affinities::releaseOf(const std::string& holder, std::string_view reason, int limit) {
  std::vector<AffinityRow> held;
  {
    auto rows = s_.db.query(kHoldOfHolder, holder, limit);
    while (rows.next()) held.push_back(read(*rows));
  }
  for (AffinityRow& row : held) release(row, reason);
  return static_cast<int>(held.size());
}

void Affinities::failedTry(std::int64_t job, const std::string& worker) {
  std::optional<AffinityRow> row;
  {
    auto rows = s_.db.query(kHoldKeyOfJob, job);
    if (rows.next()) row = read(*rows);
  }
  if (!row || !row->isBound() || !Holders(s_).is(row->affinity.holder, worker)) return;
  const int failures = row->affinity.failures + 1;
  if (failures < s_.rules.affinities.max_failures) {
    s_.db.post(kSetFailures, row->seq, failures);
    return;
  }
  s_.lockLimits();  // claims move jobs of keys too
  release(*row, "failures");
}

int Affinities::expire(int limit) {
  std::vector<AffinityRow> due;
  {
    auto rows = s_.db.query(kDueAffinities, s_.now, limit);
    while (rows.next()) due.push_back(read(*rows));
  }
  for (AffinityRow& row : due) {
    if (hasLivingJobs(row.seq)) {
      touch(row);  // looked at again after that time
    } else if (row.isBound()) {
      release(row, "expired");
    } else {
      s_.db.post(kForgetAffinity, row.seq);
    }
  }
  return static_cast<int>(due.size());
}

}  // namespace muster

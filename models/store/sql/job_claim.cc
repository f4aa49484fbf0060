// Jobs are taken by workers.
#include <algorithm>

#include "models/json/job_json.h"
#include "models/store/sql/circuits.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/flow_upstream.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/sql/sql_array.h"
#include "models/worker.h"

namespace muster {
namespace {

constexpr int kProbeChoice = 16;  // among so many a probe is chosen

// kHeadOfLane where others claim too: what they hold is passed over before its data is looked up.
// What does not fit is held too until the commit, and others pass over it so long.
constexpr Sql kFreeHeadOfLane{MUSTER_SELECT_JOBS_THAT_FIT(
    "(SELECT * FROM jobs WHERE lane_id = $1 AND status = 'pending' "
    "AND delayed = 0 AND (expires_at IS NULL OR expires_at > $2) "
    "ORDER BY priority DESC, seq LIMIT $3 /*skip_locked jobs*/) AS chosen",
    "sized.priority DESC, sized.seq") "ORDER BY j.priority DESC, j.seq"};
#define MUSTER_TAKE_JOB                                                               \
  "UPDATE jobs AS j SET status = 'claimed', delayed = 0, attempts = j.attempts + 1, " \
  "version = j.version + 1, error = NULL, reason = NULL, progress = NULL, "           \
  "progress_message = NULL, "
constexpr Sql kTake{MUSTER_TAKE_JOB
                    "claimed_by = $2, claimed_at = $3, lease_token = $4, lease_expires_at = $5 "
                    "WHERE seq = $1 AND status = 'pending'"};
// PostgreSQL: the first $3 jobs of a lane that nobody holds are found and taken in one step, each
// for the worker and with the token in its place of $4 and $5.
constexpr Sql kTakeHeads{
    "WITH head AS MATERIALIZED (SELECT seq, priority FROM jobs WHERE lane_id = $1 "
    "AND status = 'pending' AND delayed = 0 AND (expires_at IS NULL OR expires_at > $2) "
    "ORDER BY priority DESC, seq LIMIT $3 FOR UPDATE SKIP LOCKED), "
    "placed AS (SELECT seq, row_number() OVER (ORDER BY priority DESC, seq) AS place FROM "
    "head) " MUSTER_TAKE_JOB
    "claimed_by = (CAST($4 AS TEXT[]))[placed.place], claimed_at = $2, "
    "lease_token = (CAST($5 AS TEXT[]))[placed.place], lease_expires_at = $6 "
    "FROM placed JOIN job_payloads p ON p.seq = placed.seq WHERE j.seq = placed.seq "
    "RETURNING " MUSTER_JOB_COLUMNS MUSTER_PAYLOAD_OF_UNFINISHED};
constexpr Sql kTenantClaimed{"SELECT claimed FROM tenants WHERE pool_id = $1 AND tenant = $2"};
constexpr Sql kTenantTakes{
    "INSERT INTO tenants (pool_id, tenant, claimed, turn) VALUES ($1, $2, $3, $4) "
    "ON CONFLICT (pool_id, tenant) DO UPDATE SET claimed = tenants.claimed + excluded.claimed, "
    "turn = excluded.turn"};
constexpr Sql kLastTurn{"SELECT coalesce(max(turn), 0) FROM tenants WHERE pool_id = $1"};
// The first in the order of an index. For min() PostgreSQL may walk all of another one.
constexpr Sql kFirstDue{
    "SELECT (SELECT available_at FROM jobs WHERE status = 'pending' AND delayed = 1 "
    "ORDER BY available_at LIMIT 1), "
    "(SELECT expires_at FROM jobs WHERE status = 'pending' "
    "AND status IN ('blocked', 'pending') AND expires_at IS NOT NULL "
    "ORDER BY expires_at LIMIT 1)"};
constexpr Sql kNextDue{
    "SELECT available_at FROM jobs WHERE status = 'pending' AND delayed = 1 AND pool_id = $1 "
    "ORDER BY available_at LIMIT 1"};

}  // namespace

std::int64_t Jobs::claimedBy(const PoolId& pool, const std::string& tenant) {
  s_.lockLimits();
  s_.flushTenants();
  auto rows = s_.db.query(kTenantClaimed, pool, tenant);
  return rows.next() ? rows->integer(0) : 0;
}

std::pair<std::optional<Time>, std::optional<Time>> Jobs::firstDue() {
  auto rows = s_.db.query(kFirstDue);
  rows.next();
  return {rows->maybeTime(0), rows->maybeTime(1)};
}

void Jobs::attachClaimed(std::span<Row> rows) {
  const bool plain =
      std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.links == 0; });
  if (plain) return;
  FlowRows(s_).attachClaimed(rows);
  Pins(s_).attach(rows);
  ResourceRefs(s_).attach(rows);
}

bool Jobs::mayClaim(const std::string& worker) const {
  const auto known = s_.ahead.claimers.find(worker);
  if (known == s_.ahead.claimers.end()) return false;
  if (!known->second) return !s_.rules.strict_workers;
  const std::string& status = known->second->status;
  return status != worker_status::kTerminating && !worker_status::isEnded(status) &&
         !isOverLimit(known->second->use, s_.rules.resources.workerLimits());
}

// Of a worker that is foretold to claim.
std::vector<std::string> Jobs::pinsOf(const PoolId& pool, const std::string& worker) {
  const auto known = s_.ahead.claimers.find(worker);
  const bool is_known = known != s_.ahead.claimers.end() && known->second;
  return Pools(s_).pinsOf(pool, worker, is_known ? known->second->traits.node : std::string());
}

void Jobs::takeHeads(const Lane& lane, const Pool& pool, const std::string& first) {
  SqlArray workers, tokens;
  std::int64_t count = 0;
  bool reached = false;  // those before it have had their turn
  std::erase_if(s_.ahead.claims, [&](const Wish& wish) {
    if (wish.pool != pool.id) return false;
    reached = reached || wish.worker == first;
    if (reached && mayClaim(wish.worker) && pinsOf(pool.id, wish.worker).empty()) {
      workers.add(wish.worker);
      tokens.add(s_.random.token());
      ++count;
    }
    return true;
  });
  if (count == 0) return;
  auto rows = s_.db.query(kTakeHeads, lane.id, s_.now, count, workers.text(), tokens.text(),
                          s_.now + pool.settings.lease());
  std::vector<Row> taken;
  while (rows.next()) taken.push_back(readRow(*rows, true));
  attachClaimed(taken);
  for (Row& row : taken) s_.ahead.taken.emplace(row.job.claimed_by, std::move(row));
}

std::optional<Jobs::Row> Jobs::takeHead(const Lane& lane, const Pool& pool,
                                        const std::string& worker) {
  takeHeads(lane, pool, worker);
  const auto [first, last] = s_.ahead.taken.equal_range(worker);
  for (auto taken = first; taken != last; ++taken) {
    if (taken->second.job.pool != pool.id) continue;
    return std::move(s_.ahead.taken.extract(taken).mapped());
  }
  // Nobody foretold it, or there were too few: a unit in between may have brought more.
  SqlArray workers, tokens;
  workers.add(worker);
  tokens.add(s_.random.token());
  auto rows = s_.db.query(kTakeHeads, lane.id, s_.now, 1, workers.text(), tokens.text(),
                          s_.now + pool.settings.lease());
  if (!rows.next()) return std::nullopt;
  Row row = readRow(*rows, true);
  attachClaimed({&row, 1});
  return row;
}

std::vector<Job> Jobs::claim(const Pool& pool, const std::string& worker,
                             const WorkerTraits& traits, int max, bool only_pinned) {
  std::vector<Job> jobs;
  if (*pool.settings.paused) return jobs;
  Circuits circuits(s_);
  const auto allowed = circuits.allows(pool);
  if (allowed == 0) return jobs;
  if (s_.due_until != s_.now) {  // once for all claims of one commit
    constexpr int kDueAtOnce = 1000;
    const auto [due, expired] = firstDue();
    if (due && *due <= s_.now) promoteDue(kDueAtOnce);
    if (expired && *expired <= s_.now) expirePending(kDueAtOnce, false);
    s_.due_until = s_.now;
  }
  const auto& lanes = Pools(s_).knownLanes(pool.id);
  const auto pins = Pools(s_).pinsOf(pool.id, worker, only_pinned ? std::string() : traits.node);
  if ((lanes.empty() || only_pinned) && pins.empty()) return jobs;
  if (lanes.size() != 1 || !pins.empty() || !lanes.front().isPlain()) {
    jobs = claimInTurn(pool, worker, traits, allowed ? 1 : max, pins, only_pinned);
    if (allowed && !jobs.empty()) circuits.probes(pool, jobs.front().id);
    return jobs;
  }
  const Lane& lane = lanes.front();
  if (max == 1 && !allowed && s_.db.hasPeers()) {
    auto row = takeHead(lane, pool, worker);
    if (!row) return jobs;
    s_.countMove(*row, JobStatus::kPending, JobStatus::kClaimed);
    emit(event_type::kJobClaimed, *row);
    jobs.push_back(std::move(row->job));
    return jobs;
  }
  std::vector<Row> found;
  {
    const int most = allowed ? kProbeChoice : max;
    const std::size_t most_bytes = s_.rules.max_answer_bytes;
    auto rows = s_.db.hasPeers() ? s_.db.query(kFreeHeadOfLane, lane.id, s_.now, most,
                                               static_cast<std::int64_t>(most_bytes))
                                 : s_.db.query(kHeadOfLane, lane.id, s_.now, most);
    std::size_t bytes = 0;
    while (rows.next() && !rows->isNull(kDataColumn)) {
      Row row = readRow(*rows, true);
      bytes += payloadBytes(row.job);
      if (bytes > most_bytes && !found.empty()) break;
      found.push_back(std::move(row));
    }
  }
  if (found.empty()) return jobs;
  if (allowed) {
    // Not the one that failed just now, while there are others: it may be the job after all.
    found = {*std::min_element(found.begin(), found.end(), [](const Row& a, const Row& b) {
      return a.job.available_at < b.job.available_at;
    })};
    circuits.probes(pool, found.front().job.id);
  }
  // One token for all: it proves the lease only together with the job's id, and no other claim of
  // the same job has it.
  const std::string token = s_.random.token();
  jobs.reserve(found.size());
  for (Row& row : found) take(row, pool, worker, token);
  attachClaimed(found);
  for (Row& row : found) jobs.push_back(std::move(row.job));
  return jobs;
}

Result<Job> Jobs::claimOne(const Pool& pool, const std::string& worker, const WorkerTraits& traits,
                           const JobId& id) {
  auto row = load(id, true);
  if (!row || row->job.pool != pool.id) {
    return muster::fail(ErrorCode::kNotFound,
                        "there is no job '" + id.str() + "' in pool '" + pool.id.str() + "'");
  }
  const auto refuse = [](std::string why) {
    return muster::fail(ErrorCode::kNotClaimable, std::move(why));
  };
  const Job& job = row->job;
  if (job.status == JobStatus::kBlocked) {
    attachFlow(*row);
    return refuse("the job waits for " +
                  FlowUpstream(s_).open(row->seq, job.flow ? job.flow->blocked_by : 0));
  }
  if (job.status != JobStatus::kPending)
    return refuse("the job is " + std::string(name(job.status)));
  if (*pool.settings.paused) return refuse("the pool is paused");
  Circuits circuits(s_);
  const auto allowed = circuits.allows(pool);
  if (allowed == 0) return refuse(circuits.obstacle(pool));
  if (job.available_at > s_.now) {
    return refuse("the job is delayed until " + formatTime(job.available_at));
  }
  if (job.expires_at && *job.expires_at <= s_.now) return refuse("the job has expired");
  if (!job.placement.empty()) {
    const auto running = runningOnNode(pool.id, traits.node);
    if (const auto obstacle =
            placementObstacle(parsePlacement(job.placement), traits, static_cast<int>(running))) {
      return refuse(*obstacle);
    }
  }
  if (const auto obstacle = Pins(s_).obstacle(*row, worker, traits.node)) {
    return refuse(*obstacle);
  }
  if (!job.tenant.empty() &&
      claimedBy(pool.id, job.tenant) >= *pool.settings.per_tenant_concurrency) {
    return refuse("the tenant's limit is reached");
  }
  const bool has_key = (row->links & job_link::kHasKey) != 0;
  if (has_key || !job.tenant.empty() || Pools(s_).hasTenants(pool.id)) s_.lockLimits();
  // Not before: others pass over a row that is locked, also when it is refused here.
  const std::int64_t version = job.version;
  row = hold(id, true);
  if (!row || row->job.version != version) {
    throw StoreError(StoreError::Kind::kConflict, "another has changed the job meanwhile");
  }
  if (has_key && !Pins(s_).mayTake(*row, worker, traits.node)) {
    return refuse("the job is pinned to " + Pins(s_).holderOf(*row));
  }
  if (allowed) circuits.probes(pool, id);
  row->pinned = isPinnedTo(*row, worker, traits.node);
  take(*row, pool, worker, s_.random.token());
  attachClaimed({&*row, 1});
  return std::move(row->job);
}

bool Jobs::isPinnedTo(const Row& row, const std::string& worker, const std::string& node) {
  if ((row.links & (job_link::kHasRefs | job_link::kHasKey)) == 0) return false;
  Pools pools(s_);
  for (const std::string& pin : pools.pinsOf(row.job.pool, worker, node)) {
    const auto& lanes = pools.pinnedLanes(row.job.pool, pin);
    const auto is_its = [&](const Lane& lane) { return lane.id == row.lane; };
    if (std::any_of(lanes.begin(), lanes.end(), is_its)) return true;
  }
  return false;
}

void Jobs::take(Row& row, const Pool& pool, const std::string& worker, const std::string& token) {
  Job& job = row.job;
  job.status = JobStatus::kClaimed;
  job.attempts += 1;
  job.version += 1;
  job.claimed_by = worker;
  job.claimed_at = s_.now;
  job.lease_token = token;
  job.lease_expires_at = s_.now + pool.settings.lease();
  job.error.clear();
  job.reason.clear();
  job.progress.reset();
  job.progress_message.clear();
  s_.db.post(kTake, row.seq, job.claimed_by, job.claimed_at, job.lease_token, job.lease_expires_at);
  s_.countMove(row, JobStatus::kPending, JobStatus::kClaimed);
  serve(row);
  emit(event_type::kJobClaimed, row);
}

void Jobs::serve(const Row& row) {
  std::optional<std::int64_t> turn;
  PoolTurns* turns = s_.turns.find(row.job.pool);
  if (turns != nullptr && turns->queue.knows(row.lane)) {
    turn = turns->queue.serve(row.lane, {row.job.priority, row.seq});
  } else if (!row.job.tenant.empty() || Pools(s_).hasTenants(row.job.pool)) {
    s_.turns.drop(row.job.pool);
    auto last = s_.db.query(kLastTurn, row.job.pool);
    last.next();
    turn = last->integer(0) + 1;
  }
  if (turn) s_.db.post(kTenantTakes, row.job.pool, row.job.tenant, !row.job.tenant.empty(), *turn);
}

std::optional<Time> Jobs::nextDue(const PoolId& pool) {
  auto rows = s_.db.query(kNextDue, pool);
  return rows.next() ? rows->maybeTime(0) : std::nullopt;
}

}  // namespace muster

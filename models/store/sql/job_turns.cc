// Jobs are taken from pools with several lanes: tenants take turns.
#include <algorithm>

#include "models/json/job_json.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/sql_array.h"

namespace muster {
namespace {

#define MUSTER_CLAIMABLE                    \
  "status = 'pending' AND delayed = 0 AND " \
  "(expires_at IS NULL OR expires_at > $2) ORDER BY priority DESC, seq LIMIT "
// The first job of each lane of the pool that anybody may serve, or of those of one holder.
#define MUSTER_FIRST_OF_LANES(pin)                                              \
  "SELECT first.lane_id, j.priority, j.seq FROM (SELECT l.lane_id AS lane_id, " \
  "(SELECT seq FROM jobs WHERE lane_id = l.lane_id AND " MUSTER_CLAIMABLE       \
  "1) AS seq FROM lanes l WHERE l.pool_id = $1 AND l.pin " pin                  \
  ") first "                                                                    \
  "JOIN jobs j ON j.seq = first.seq"
constexpr Sql kFirstOfLanes{MUSTER_FIRST_OF_LANES("< 'a'")};
constexpr Sql kFirstOfPinned{MUSTER_FIRST_OF_LANES("= $3")};
constexpr Sql kTenants{"SELECT tenant, turn, claimed FROM tenants WHERE pool_id = $1"};
// PostgreSQL: the first $3 jobs of each of these lanes that nobody holds.
constexpr Sql kFreeHeadsOfLanes{MUSTER_SELECT_JOBS_THAT_FIT(
    "(SELECT wanted.turn, head.*, row_number() OVER (PARTITION BY wanted.turn ORDER BY "
    "head.priority DESC, head.seq) AS round FROM unnest(CAST($1 AS BIGINT[])) WITH ORDINALITY "
    "AS wanted(lane, turn) CROSS JOIN LATERAL (SELECT * FROM jobs WHERE lane_id = wanted.lane "
    "AND " MUSTER_CLAIMABLE "$3 /*skip_locked jobs*/) AS head) AS chosen",
    "sized.round, sized.turn") "ORDER BY j.priority DESC, j.seq"};
constexpr Sql kRunningOnNode{
    "SELECT count(*) FROM jobs j JOIN workers w ON w.worker_id = j.claimed_by "
    "WHERE j.status = 'claimed' AND j.lane_id = $1 AND w.host = $2"};
// The same of all lanes of holders, by their placement.
constexpr Sql kPinnedOnNode{
    "SELECT l.placement, count(*) FROM workers w JOIN jobs j ON j.claimed_by = w.worker_id "
    "JOIN lanes l ON l.lane_id = j.lane_id WHERE w.host = $2 AND w.ended_at IS NULL "
    "AND j.status = 'claimed' AND l.pool_id = $1 AND l.pin >= 'a' AND l.placement <> '' "
    "GROUP BY l.placement"};

constexpr std::size_t kMostPinGroups = 4096;  // of holders whose lanes are kept

}  // namespace

std::int64_t Jobs::runningOnNode(const PoolId& pool, const std::string& node) {
  s_.lockLimits();
  std::int64_t running = 0;
  for (const Lane& lane : Pools(s_).knownLanes(pool)) {
    if (lane.placement.empty() || !lane.rules.max_parallel_per_node) continue;
    auto rows = s_.db.query(kRunningOnNode, lane.id, node);
    rows.next();
    running += rows->integer(0);
  }
  if (!Pools(s_).hasPinned(pool)) return running;
  auto rows = s_.db.query(kPinnedOnNode, pool, node);
  while (rows.next()) {
    if (parsePlacement(rows->text(0)).max_parallel_per_node) running += rows->integer(1);
  }
  return running;
}

PoolTurns& Jobs::turnsFor(const Pool& pool, const std::vector<std::string>& pins,
                          bool only_pinned) {
  PoolTurns& turns = turnsOf(pool);
  for (const std::string& pin : pins) {
    if (turns.queue.knowsGroup(pin)) continue;
    turns.queue.addGroup(pin);
    for (const Lane& lane : Pools(s_).pinnedLanes(pool.id, pin)) {
      s_.turns.laneAdded(pool.id, lane.id, lane.tenant, lane.rules, pin);
    }
    auto rows = s_.db.query(kFirstOfPinned, pool.id, s_.now, pin);
    while (rows.next()) {
      const std::int64_t lane = rows->integer(0);
      if (turns.queue.knows(lane)) turns.queue.offer(lane, {rows->integer(1), rows->integer(2)});
    }
  }
  turns.queue.select(pins, !only_pinned);
  return turns;
}

PoolTurns& Jobs::turnsOf(const Pool& pool) {
  const std::int64_t limit = *pool.settings.per_tenant_concurrency;
  // What others found is locked, and passed over here though they may not choose it: they wait.
  s_.lockLimits();
  PoolTurns* known = s_.turns.find(pool.id);
  if (known != nullptr && known->queue.limit() == limit && !known->outdated &&
      known->queue.groups() < kMostPinGroups) {
    return *known;
  }
  s_.flushTenants();
  PoolTurns& turns = s_.turns.add(pool.id, limit);
  {
    auto rows = s_.db.query(kTenants, pool.id);
    while (rows.next()) {
      turns.queue.addTenant(rows->string(0), rows->integer(1), rows->integer(2));
    }
  }
  for (const Lane& lane : Pools(s_).knownLanes(pool.id)) {
    s_.turns.laneAdded(pool.id, lane.id, lane.tenant, lane.rules);
  }
  auto rows = s_.db.query(kFirstOfLanes, pool.id, s_.now);
  while (rows.next()) {
    // One that another service made after we read the lanes has its turn in the next transaction.
    const std::int64_t lane = rows->integer(0);
    if (turns.queue.knows(lane)) turns.queue.offer(lane, {rows->integer(1), rows->integer(2)});
  }
  return turns;
}

// A worker that may not serve a lane leaves it in its place for others.
struct Jobs::Servable {
  Jobs& jobs;
  const PoolId& pool;
  const PoolTurns& turns;
  const WorkerTraits& traits;
  std::optional<std::int64_t> running = {};  // on the node, of the jobs that have a share there

  // One share for all of them, whatever lane they are in.
  bool hasShare(std::int64_t lane) const {
    const auto placed = turns.placements.find(lane);
    return placed != turns.placements.end() && placed->second.max_parallel_per_node;
  }
  bool operator()(std::int64_t lane) {
    const auto placed = turns.placements.find(lane);
    if (placed == turns.placements.end()) return true;
    if (placed->second.max_parallel_per_node && !running) {
      running = jobs.runningOnNode(pool, traits.node);
    }
    return !placementObstacle(placed->second, traits, static_cast<int>(running.value_or(0)));
  }
  void took(std::int64_t lane) {
    if (hasShare(lane)) ++*running;
  }
};

// Reads the first jobs of the lane at `place`, until their payload has so many bytes: how many it
// has. Where a statement is a journey it brings those of the lanes behind it too, as many as this
// claim and those that are foretold will ask for.
std::size_t Jobs::readHeads(const Pool& pool, PoolTurns& turns, Servable& may_serve,
                            const TurnQueue::Place& place, std::int64_t jobs, std::size_t bytes) {
  const auto lanes = static_cast<std::int64_t>(turns.queue.size());
  const std::int64_t of_each = (jobs + lanes - 1) / lanes;
  std::size_t read = 0;
  if (!s_.db.hasPeers()) {
    auto& [rows, all] = turns.heads[place.lane];
    auto found = s_.db.query(kHeadOfLane, place.lane, s_.now, of_each);
    bool more = true;
    while ((rows.empty() || read < bytes) && (more = found.next())) {
      rows.push_back(readRow(*found, true));
      read += payloadBytes(rows.back().job);
    }
    all = !more && static_cast<std::int64_t>(rows.size()) < of_each;
    return read;
  }
  const auto foretold = std::count_if(s_.ahead.claims.begin(), s_.ahead.claims.end(),
                                      [&](const Wish& wish) { return wish.pool == pool.id; });
  auto left = std::max<std::int64_t>((jobs + of_each - 1) / of_each, foretold);
  SqlArray wanted;
  std::vector<PoolTurns::Heads*> asked;
  for (std::optional at = place; at && left > 0; at = turns.queue.next(at)) {
    if (turns.heads.contains(at->lane) || !may_serve(at->lane)) continue;
    asked.push_back(&turns.heads[at->lane]);
    wanted.addOrNull(std::optional(at->lane));
    --left;
  }
  for (PoolTurns::Heads* heads : asked) heads->all = true;
  auto found = s_.db.query(kFreeHeadsOfLanes, wanted.text(), s_.now, of_each,
                           static_cast<std::int64_t>(bytes));
  while (found.next()) {
    const bool fits = !found->isNull(kDataColumn);
    Row row = readRow(*found, fits);
    auto& [rows, all] = turns.heads[row.lane];
    all = all && fits && static_cast<std::int64_t>(rows.size()) + 1 < of_each;
    if (!fits) continue;  // nor does any behind it in its lane
    read += payloadBytes(row.job);
    rows.push_back(std::move(row));
  }
  return read;
}

// One pass over the queue is enough: what is taken or corrected only ever moves back in it.
std::vector<Job> Jobs::claimInTurn(const Pool& pool, const std::string& worker,
                                   const WorkerTraits& traits, int max,
                                   const std::vector<std::string>& pins, bool only_pinned) {
  std::vector<Row> jobs;
  PoolTurns& turns = turnsFor(pool, pins, only_pinned);
  Servable may_serve{*this, pool.id, turns, traits};
  std::string token;  // one for all
  const std::size_t most_bytes = s_.rules.max_answer_bytes;
  std::size_t taken = 0, read_ahead = 0;  // bytes
  std::optional<TurnQueue::Place> at;
  while (jobs.size() < static_cast<std::size_t>(max) && (at = turns.queue.next(at))) {
    if (!may_serve(at->lane)) continue;
    auto read = turns.heads.find(at->lane);
    if (read != turns.heads.end() && read->second.rows.empty() && !read->second.all) {
      turns.heads.erase(read);
      read = turns.heads.end();
    }
    if (read == turns.heads.end()) {
      const std::size_t used = std::min(taken + read_ahead, most_bytes);
      read_ahead += readHeads(pool, turns, may_serve, *at,
                              max - static_cast<std::int64_t>(jobs.size()), most_bytes - used);
      read = turns.heads.find(at->lane);
    }
    auto& rows = read->second.rows;
    if (rows.empty()) {
      turns.queue.correct(at->lane, std::nullopt);
      continue;
    }
    const TurnQueue::Head head{rows.front().job.priority, rows.front().seq};
    if (head != at->head()) {
      turns.queue.correct(at->lane, head);
      continue;
    }
    const std::size_t bytes = payloadBytes(rows.front().job);
    if (!jobs.empty() && taken + bytes > most_bytes) break;
    read_ahead -= std::min(read_ahead, bytes);
    Row row = std::move(rows.front());
    rows.pop_front();
    row.pinned = !turns.queue.isOpen(at->lane);
    if ((row.links & job_link::kHasKey) != 0) {
      if (!Pins(s_).mayTake(row, worker, traits.node)) {
        turns.queue.correct(at->lane, TurnQueue::Head{head.priority, head.seq + 1});
        continue;
      }
      // If that bound its key, more jobs of the key may have come to the lanes of the worker. While
      // these turns are up to date, turnsFor() gives the same.
      const auto own = Pools(s_).pinsOf(pool.id, worker, traits.node);
      const bool is_kept = !turns.outdated && turns.queue.groups() + own.size() < kMostPinGroups;
      if (own != pins && is_kept && !only_pinned) turnsFor(pool, own);
    }
    taken += bytes;
    if (token.empty()) token = s_.random.token();
    take(row, pool, worker, token);
    may_serve.took(row.lane);
    jobs.push_back(std::move(row));
  }
  if (!s_.db.hasPeers()) turns.heads.clear();
  attachClaimed(jobs);
  std::vector<Job> claimed;
  claimed.reserve(jobs.size());
  for (Row& row : jobs) claimed.push_back(std::move(row.job));
  return claimed;
}

}  // namespace muster

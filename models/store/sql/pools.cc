#include "models/store/sql/pools.h"

#include <algorithm>
#include <map>

#include "models/json/job_json.h"
#include "models/json/pool_json.h"
#include "models/policy/floors.h"
#include "models/policy/pins.h"
#include "models/store/sql/circuits.h"
#include "models/store/sql/decisions.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/launches.h"
#include "models/store/sql/load.h"
#include "models/store/sql/pinned_work.h"
#include "models/store/sql/placing.h"
#include "models/store/sql/scaling.h"
#include "models/store/sql/workers.h"

namespace muster {
namespace {

constexpr Sql kFindPool{
    "SELECT pool_id, settings, version, created_at, updated_at FROM pools WHERE pool_id = $1"};
constexpr Sql kListPools{
    "SELECT pool_id, settings, version, created_at, updated_at FROM pools "
    "WHERE pool_id > $1 ORDER BY pool_id LIMIT $2"};
constexpr Sql kInsertPool{
    "INSERT INTO pools (pool_id, settings, version, created_at, updated_at) "
    "VALUES ($1, $2, 1, $3, $3) ON CONFLICT (pool_id) DO NOTHING"};
constexpr Sql kCountPools{"SELECT count(*) FROM pools"};
constexpr Sql kUpdatePool{
    "UPDATE pools SET settings = $2, version = version + 1, updated_at = $3 "
    "WHERE pool_id = $1 AND version = $4"};
constexpr Sql kDeletePool{"DELETE FROM pools WHERE pool_id = $1"};
// Those that anybody may serve, and one without a number if there are others.
constexpr Sql kLanes{
    "SELECT lane_id, tenant, placement, pin FROM lanes WHERE pool_id = $1 AND pin < 'a' "
    "UNION ALL SELECT 0, '', '', '' WHERE EXISTS "
    "(SELECT 1 FROM lanes WHERE pool_id = $1 AND pin >= 'a')"};
constexpr Sql kLanesOfPin{
    "SELECT lane_id, tenant, placement, pin FROM lanes WHERE pool_id = $1 AND pin = $2"};
constexpr Sql kPinOfLane{"SELECT pin FROM lanes WHERE lane_id = $1"};
constexpr Sql kFindLane{
    "SELECT lane_id FROM lanes WHERE pool_id = $1 AND tenant = $2 AND placement = $3 "
    "AND pin = $4"};
constexpr Sql kInsertLane{
    "INSERT INTO lanes (lane_id, pool_id, tenant, placement, pin) VALUES ($1, $2, $3, $4, $5) "
    "ON CONFLICT DO NOTHING"};
constexpr Sql kDeleteLanes{"DELETE FROM lanes WHERE pool_id = $1"};
constexpr Sql kDeleteTenants{"DELETE FROM tenants WHERE pool_id = $1"};
constexpr Sql kDeleteCounts{
    "DELETE FROM lane_counts WHERE lane_id IN (SELECT lane_id FROM lanes WHERE pool_id = $1)"};
constexpr Sql kCounts{
    "SELECT sum(c.pending), sum(c.claimed), sum(c.done), sum(c.poisoned), sum(c.cancelled), "
    "sum(c.blocked) "
    "FROM lanes l JOIN lane_counts c ON c.lane_id = l.lane_id WHERE l.pool_id = $1"};
// Of each lane how many jobs are pending and when the first of them was made.
constexpr Sql kPendingInLanes{
    "SELECT l.lane_id, l.tenant, l.placement, "
    "(SELECT sum(c.pending) FROM lane_counts c WHERE c.lane_id = l.lane_id), "
    "(SELECT " MUSTER_WORK_SINCE
    " FROM jobs j WHERE j.lane_id = l.lane_id AND j.status = 'pending' "
    "ORDER BY j.seq LIMIT 1), l.pin FROM lanes l WHERE l.pool_id = $1"};
// The + keeps to the indexes of those that are delayed and of those that expire.
constexpr Sql kDelayedInLanes{
    "SELECT +lane_id, count(*) FROM jobs WHERE pool_id = $1 AND status = 'pending' "
    "AND delayed = 1 AND available_at > $2 GROUP BY 1"};
constexpr Sql kHasDelayed{
    "SELECT 1 FROM jobs WHERE pool_id = $1 AND status = 'pending' AND delayed = 1 "
    "AND available_at > $2 LIMIT 1"};
constexpr Sql kExpiredInLanes{
    "SELECT +lane_id, count(*) FROM jobs WHERE pool_id = $1 AND status = 'pending' "
    "AND status IN ('blocked', 'pending') AND expires_at IS NOT NULL AND expires_at <= $2 AND "
    "available_at <= $2 GROUP BY 1"};
constexpr Sql kHasExpired{
    "SELECT 1 FROM jobs WHERE status IN ('blocked', 'pending') AND expires_at IS NOT NULL "
    "AND expires_at <= $1 LIMIT 1"};
constexpr Sql kTenantsClaimed{"SELECT tenant, claimed FROM tenants WHERE pool_id = $1"};
constexpr Sql kEmptyLanes{
    "SELECT l.lane_id FROM lanes l LEFT JOIN lane_counts c ON c.lane_id = l.lane_id "
    "WHERE l.tenant <> '' OR l.placement <> '' OR l.pin <> '' GROUP BY l.lane_id "
    "HAVING coalesce(sum(c.pending), 0) = 0 AND coalesce(sum(c.claimed), 0) = 0 "
    "AND coalesce(sum(c.done), 0) = 0 AND coalesce(sum(c.poisoned), 0) = 0 "
    "AND coalesce(sum(c.cancelled), 0) = 0 AND coalesce(sum(c.blocked), 0) = 0 LIMIT $1"};
constexpr Sql kDeleteLane{"DELETE FROM lanes WHERE lane_id = $1"};
constexpr Sql kDeleteLaneCounts{"DELETE FROM lane_counts WHERE lane_id = $1"};
constexpr Sql kDeleteIdleTenants{
    "DELETE FROM tenants WHERE claimed = 0 AND tenant <> '' AND NOT EXISTS (SELECT 1 FROM lanes l "
    "WHERE l.pool_id = tenants.pool_id AND l.tenant = tenants.tenant)"};

Lane readLane(const SqlRows& row) {
  Lane lane{row.integer(0), row.string(1), row.string(2), {}, row.string(3)};
  if (!lane.placement.empty()) lane.rules = parsePlacement(lane.placement);
  return lane;
}

Error missing(const PoolId& id) {
  return {ErrorCode::kNotFound, "there is no pool '" + id.str() + "'"};
}

Status checkVersion(const Pool& pool, IfVersion if_version) {
  if (versionFits(if_version, pool.version)) return {};
  return fail(ErrorCode::kVersionMismatch,
              "the pool is at version " + std::to_string(pool.version));
}

}  // namespace

std::shared_ptr<const Pool> Pools::decode(const SqlRows& row) {
  const std::string name = row.string(0);
  const std::int64_t version = row.integer(2);
  const auto cached = s_.pool_cache.find(name);
  if (cached != s_.pool_cache.end() && cached->second.pool->version == version &&
      cached->second.pool->updated_at == row.time(4) && cached->second.settings == row.text(1)) {
    return cached->second.pool;
  }
  auto pool = std::make_shared<Pool>();
  pool->id = PoolId(name);
  const std::string text = row.string(1);
  if (const auto doc = JsonDoc::parse(text)) {
    std::vector<FieldError> ignored;  // written by us; a field of a newer version has its default
    pool->given = readPoolSettings(doc->root(), ignored);
  }
  pool->settings = inForce(s_.rules.pool_defaults, pool->given);
  pool->version = version;
  pool->created_at = row.time(3);
  pool->updated_at = row.time(4);
  s_.pool_cache[name] = {text, pool};
  return pool;
}

std::shared_ptr<const Pool> Pools::find(const PoolId& id) {
  if (s_.knowsCatalog()) {
    const auto cached = s_.pool_cache.find(id.str());
    if (cached != s_.pool_cache.end()) return cached->second.pool;
  }
  auto rows = s_.db.query(kFindPool, id);
  return rows.next() ? decode(*rows) : nullptr;
}

Result<std::shared_ptr<const Pool>> Pools::findOrCreate(const PoolId& id) {
  if (auto pool = find(id)) return pool;
  if (!s_.rules.auto_create_pools) return tl::unexpected(missing(id));
  auto saved = save(id, {}, nullptr);
  if (!saved) return tl::unexpected(std::move(saved).error());
  return saved->pool;
}

Result<Pools::Saved> Pools::put(const PoolId& id, const PoolSettings& settings,
                                IfVersion if_version) {
  auto old = find(id);
  if (!old && if_version) return fail(ErrorCode::kVersionMismatch, "the pool does not exist yet");
  if (old) {
    if (auto ok = checkVersion(*old, if_version); !ok) return tl::unexpected(ok.error());
  }
  return save(id, settings, std::move(old));
}

Result<Pools::Saved> Pools::patch(const PoolId& id, const PoolSettings& changes,
                                  IfVersion if_version, const std::vector<std::string>& unset) {
  auto old = find(id);
  if (!old) return tl::unexpected(missing(id));
  if (auto ok = checkVersion(*old, if_version); !ok) return tl::unexpected(ok.error());
  PoolSettings kept = old->given;
  for (const std::string& name : unset) unsetField(kept, name);
  return save(id, overlay(kept, changes), old);
}

Result<Pools::Saved> Pools::save(const PoolId& id, const PoolSettings& given,
                                 std::shared_ptr<const Pool> old) {
  const PoolSettings in_force = inForce(s_.rules.pool_defaults, given);
  if (const auto fault = contradiction(in_force)) {
    return tl::unexpected(Error{ErrorCode::kInvalid,
                                fault->first + " " + fault->second,
                                {{fault->first, "contradiction", fault->second}}});
  }
  if (given.schedules) {
    auto faults = scheduleFaults(*given.schedules, s_.rules.zones);
    if (!faults.empty()) {
      return tl::unexpected(
          Error{ErrorCode::kInvalid, "a schedule cannot be read", std::move(faults)});
    }
  }
  // One that was taken out of the configuration must not keep the pool from being paused.
  const bool renamed = !old || old->given.template_name != given.template_name;
  if (renamed && given.template_name && !s_.rules.templates.find(*given.template_name)) {
    const std::string why = "no template '" + *given.template_name + "' is configured";
    return tl::unexpected(Error{ErrorCode::kInvalid, why, {{"/template", "unknown", why}}});
  }
  const std::string text = writePoolSettings(given);
  Event event;
  event.pool = id.str();
  if (!old) {
    if (auto ok = checkRoom(); !ok) return tl::unexpected(std::move(ok).error());
    if (s_.db.execute(kInsertPool, id, text, s_.now) == 0) return Saved{find(id), false};
    s_.catalogChanged();
    event.type = event_type::kPoolCreated;
    s_.emit(std::move(event));
    return Saved{find(id), true};
  }
  if (old->given == given) return Saved{std::move(old), false};
  s_.db.execute(kUpdatePool, id, text, s_.now, old->version);
  s_.pool_cache.erase(id.str());
  s_.catalogChanged();
  // What it counted means nothing once it is switched on again.
  if (*old->settings.circuit_failures > 0 && *in_force.circuit_failures == 0) {
    Circuits(s_).reset(id, "switched_off");
  }
  const bool was_paused = *old->settings.paused, is_paused = *in_force.paused;
  event.type = was_paused == is_paused ? event_type::kPoolUpdated
               : is_paused             ? event_type::kPoolPaused
                                       : event_type::kPoolResumed;
  s_.emit(std::move(event));
  return Saved{find(id), false};
}

Status Pools::checkRoom(std::int64_t more) {
  s_.lockLimits();  // or two services would count the same pools and each add one
  auto rows = s_.db.query(kCountPools);
  rows.next();
  if (rows->integer(0) + more <= s_.rules.max_pools) return {};
  return fail(ErrorCode::kTooMany, "there are " + std::to_string(rows->integer(0)) +
                                       " pools already; delete one, or raise max_pools");
}

Status Pools::remove(const PoolId& id, IfVersion if_version) {
  const auto pool = find(id);
  if (!pool) return tl::unexpected(missing(id));
  if (auto ok = checkVersion(*pool, if_version); !ok) return ok;
  const PoolStats counts = stats(id);
  const std::int64_t jobs = counts.pending + counts.blocked + counts.claimed + counts.done +
                            counts.poisoned + counts.cancelled;
  if (jobs > 0) {
    return fail(ErrorCode::kPoolNotEmpty,
                "the pool holds " + std::to_string(jobs) +
                    " jobs; purge them, delete their flows, or delete with ?force=true");
  }
  s_.db.post(kDeleteCounts, id);
  s_.db.post(kDeleteLanes, id);
  s_.db.post(kDeleteTenants, id);
  s_.db.post(kDeletePool, id);
  s_.catalogChanged();
  Launches(s_).removeOf(id);
  Scaling(s_).removeOf(id);
  Decisions(s_).removeOf(id);
  Load(s_).removeOf(id);
  Circuits(s_).removeOf(id);
  s_.pool_cache.erase(id.str());
  s_.lanes.erase(id.str());
  s_.turns.drop(id);
  Event event;
  event.type = event_type::kPoolDeleted;
  event.pool = id.str();
  s_.emit(std::move(event));
  return {};
}

std::vector<std::shared_ptr<const Pool>> Pools::list(const std::string& after, int limit) {
  std::vector<std::shared_ptr<const Pool>> pools;
  auto rows = s_.db.query(kListPools, after, limit);
  while (rows.next()) pools.push_back(decode(*rows));
  return pools;
}

PoolLanes& Pools::readLanes(const PoolId& id) {
  const auto [known, fresh] = s_.lanes.try_emplace(id.str());
  PoolLanes& lanes = known->second;
  if (!fresh) return lanes;
  auto rows = s_.db.query(kLanes, id);
  while (rows.next()) {
    if (rows->integer(0) == 0) {
      lanes.has_pinned = true;
    } else {
      lanes.open.push_back(readLane(*rows));
    }
  }
  return lanes;
}

const std::vector<Lane>& Pools::knownLanes(const PoolId& id) { return readLanes(id).open; }

bool Pools::hasPinned(const PoolId& id) { return readLanes(id).has_pinned; }

const std::vector<Lane>& Pools::pinnedLanes(const PoolId& id, const std::string& pin) {
  constexpr std::size_t kMostHolders = 10'000;
  PoolLanes& lanes = readLanes(id);
  if (lanes.pinned.size() >= kMostHolders) lanes.pinned.clear();
  const auto [known, fresh] = lanes.pinned.try_emplace(pin);
  if (fresh) {
    auto rows = s_.db.query(kLanesOfPin, id, pin);
    while (rows.next()) known->second.push_back(readLane(*rows));
  }
  return known->second;
}

std::vector<std::string> Pools::pinsOf(const PoolId& id, const std::string& worker,
                                       const std::string& host) {
  std::vector<std::string> pins;
  if (!hasPinned(id)) return pins;
  const auto add = [&](const Holder& holder) {
    std::string pin = holder.text();
    if (!pinnedLanes(id, pin).empty()) pins.push_back(std::move(pin));
  };
  add({Holder::Kind::kWorker, worker});
  if (!host.empty()) add({Holder::Kind::kHost, host});
  return pins;
}

std::string Pools::pinOf(std::int64_t lane) {
  auto rows = s_.db.query(kPinOfLane, lane);
  return rows.next() ? rows->string(0) : std::string();
}

bool Pools::hasTenants(const PoolId& id) {
  const auto& lanes = knownLanes(id);
  return std::any_of(lanes.begin(), lanes.end(), [](const Lane& l) { return !l.tenant.empty(); });
}

std::int64_t Pools::laneFor(const PoolId& id, const std::string& tenant,
                            const std::string& placement, const std::string& pin) {
  // A pool may have thousands of lanes, most just one.
  PoolLanes& known = readLanes(id);
  const bool is_open = lane_pin::isOpen(pin);
  if (is_open && known.open.size() <= 8) {
    for (const Lane& lane : known.open) {
      if (lane.tenant == tenant && lane.placement == placement && lane.pin == pin) return lane.id;
    }
  } else {
    known.has_pinned = known.has_pinned || !is_open;
    auto found = s_.db.query(kFindLane, id, tenant, placement, pin);
    if (found.next()) return found->integer(0);
  }
  s_.catalogChanged();
  s_.db.insert(kInsertLane, id, tenant, placement, pin);
  // By us, or just now by another.
  auto made = s_.db.query(kFindLane, id, tenant, placement, pin);
  made.next();
  Lane lane{made->integer(0), tenant, placement, {}, pin};
  if (!placement.empty()) lane.rules = parsePlacement(placement);
  s_.turns.laneAdded(id, lane.id, lane.tenant, lane.rules, pin);
  const std::int64_t number = lane.id;
  if (is_open) {
    known.open.push_back(std::move(lane));
  } else if (const auto of_holder = known.pinned.find(pin); of_holder != known.pinned.end()) {
    of_holder->second.push_back(std::move(lane));
  }
  return number;
}

PoolStats Pools::stats(const PoolId& id) {
  s_.flushCounts();
  s_.flushTenants();
  PoolStats stats;
  {
    auto rows = s_.db.query(kCounts, id);
    if (rows.next()) {
      stats.pending = rows->integer(0);
      stats.claimed = rows->integer(1);
      stats.done = rows->integer(2);
      stats.poisoned = rows->integer(3);
      stats.cancelled = rows->integer(4);
      stats.blocked = rows->integer(5);
    }
  }
  Workers(s_).countByStatus(id, stats);
  const auto pool = find(id);
  if (!pool || stats.pending == 0) return stats;

  const auto countByLane = [&](Sql sql) {
    std::unordered_map<std::int64_t, std::int64_t> counts;
    auto rows = s_.db.query(sql, id, s_.now);
    while (rows.next()) counts[rows->integer(0)] = rows->integer(1);
    return counts;
  };
  std::unordered_map<std::int64_t, std::int64_t> delayed, expired;
  if (s_.db.query(kHasDelayed, id, s_.now).next()) delayed = countByLane(kDelayedInLanes);
  if (s_.db.query(kHasExpired, s_.now).next()) expired = countByLane(kExpiredInLanes);
  std::unordered_map<std::string, std::int64_t> used;  // places, by tenant
  {
    auto rows = s_.db.query(kTenantsClaimed, id);
    while (rows.next()) used[rows->string(0)] = rows->integer(1);
  }
  // One that could be launched here counts too, or nobody would be launched for such a job.
  const PlacementSupply supply = placementSupply(s_, *pool);
  std::map<std::string, std::int64_t> unplaceable;
  std::map<std::string, PinnedToHost> on_hosts;
  PinnedWork pinned_work(s_, *pool);
  std::optional<Time> oldest;
  for (auto lanes = s_.db.query(kPendingInLanes, id); lanes.next();) {
    const std::int64_t lane = lanes->integer(0), pending = lanes->integer(3);
    if (pending == 0) continue;
    if (const auto made = lanes->maybeTime(4); made && (!oldest || *made < *oldest)) oldest = made;
    stats.delayed += delayed[lane];
    const std::string pin = lanes->string(5);
    const auto holder = lane_pin::isOpen(pin) ? std::nullopt : parseHolder(pin);
    if (holder) stats.pinned += pending;
    std::int64_t due = pending - delayed[lane] - expired[lane];
    if (due <= 0) continue;
    const std::string tenant = lanes->string(1);
    std::string placement = lanes->string(2);
    Placement rules = placement.empty() ? Placement() : parsePlacement(placement);
    const bool of_worker = holder && holder->kind == Holder::Kind::kWorker;
    if (holder && !of_worker) {
      rules = atHost(std::move(rules), holder->name);
      placement = writePlacement(rules);
      on_hosts.try_emplace(placement, PinnedToHost{holder->name, lane});
    }
    if (!of_worker && !placement.empty() && !isPlaceable(rules, supply)) {
      unplaceable[placement] += due;
      if (holder) stats.pinned_waiting += due;
      continue;
    }
    if (of_worker) {
      const std::int64_t taken = pinned_work.take(holder->name, due);
      stats.pinned_waiting += due - taken;
      due = taken;
    }
    if (*pool->settings.paused) continue;
    if (!tenant.empty()) {
      std::int64_t& taken = used[tenant];
      due = std::clamp<std::int64_t>(*pool->settings.per_tenant_concurrency - taken, 0, due);
      taken += due;
    }
    stats.runnable += due;
    const bool not_here = supply.launchable && placementObstacle(rules, *supply.launchable, 0);
    if (of_worker || not_here) {
      stats.elsewhere += due;
    }
  }
  stats.pinned_places = pinned_work.taken();
  tellUnplaceable(s_, supply, unplaceable, on_hosts, stats);
  if (const auto allowed = circuitAllowance(Circuits(s_).find(*pool), s_.now)) {
    const std::int64_t here = stats.runnable - stats.elsewhere;
    stats.runnable = std::min(stats.runnable, *allowed);
    stats.elsewhere = std::max<std::int64_t>(stats.runnable - here, 0);
  }
  if (oldest) {
    stats.oldest_pending_seconds =
        std::max(0.0, std::chrono::duration<double>(s_.now - *oldest).count());
  }
  return stats;
}

std::int64_t Pools::removeEmptyLanes(int limit) {
  s_.flushCounts();
  s_.flushTenants();
  std::vector<std::int64_t> empty;
  {
    auto rows = s_.db.query(kEmptyLanes, limit);
    while (rows.next()) empty.push_back(rows->integer(0));
  }
  for (const std::int64_t lane : empty) {
    s_.db.post(kDeleteLane, lane);
    s_.db.post(kDeleteLaneCounts, lane);
  }
  if (!empty.empty()) {
    s_.lanes.clear();
    s_.turns.clear();
    s_.catalogChanged();
  }
  s_.db.post(kDeleteIdleTenants);
  return static_cast<std::int64_t>(empty.size());
}

}  // namespace muster

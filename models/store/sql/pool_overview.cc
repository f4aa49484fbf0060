// All pools at once, for the metrics.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "models/json/job_json.h"
#include "models/policy/pins.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/placing.h"
#include "models/store/sql/pools.h"

namespace muster {
namespace {

constexpr Sql kLanesOfAll{
    "SELECT l.pool_id, l.lane_id, l.placement, sum(c.pending), sum(c.claimed), sum(c.done), "
    "sum(c.poisoned), sum(c.cancelled), (SELECT " MUSTER_WORK_SINCE
    " FROM jobs j "
    "WHERE j.lane_id = l.lane_id AND j.status = 'pending' ORDER BY j.seq LIMIT 1), "
    "sum(c.blocked), l.pin FROM lanes l JOIN lane_counts c ON c.lane_id = l.lane_id GROUP BY "
    "l.lane_id"};
// Those that ended are many: each pool looks up the few that did not, and those that were lost.
#define MUSTER_WORKERS_THAT_ARE(status) \
  "(SELECT count(*) FROM workers w WHERE w.pool_id = pools.pool_id AND w.status = '" status "')"
constexpr Sql kWorkersOfAll{
    "SELECT pool_id, " MUSTER_WORKERS_THAT_ARE("starting") ", " MUSTER_WORKERS_THAT_ARE(
        "active") ", " MUSTER_WORKERS_THAT_ARE("terminating") ", " MUSTER_WORKERS_THAT_ARE("lost")
                                                              " FROM pools"};
constexpr Sql kBusyOfAll{
    "SELECT w.pool_id, count(*) FROM workers w WHERE w.ended_at IS NULL AND w.pool_id IS NOT NULL "
    "AND w.status = 'active' AND EXISTS (SELECT 1 FROM jobs j WHERE j.claimed_by = w.worker_id "
    "AND j.status = 'claimed') GROUP BY w.pool_id"};
constexpr Sql kNotDueInLane{
    "SELECT count(*) FROM jobs WHERE +lane_id = $1 AND status = 'pending' AND delayed = 1 "
    "AND available_at > $2"};
constexpr Sql kExpiredInLane{
    "SELECT count(*) FROM jobs WHERE +lane_id = $1 AND status = 'pending' "
    "AND status IN ('blocked', 'pending') AND expires_at IS NOT NULL AND expires_at <= $2 "
    "AND available_at <= $2"};

}  // namespace

void Pools::countUnplaceable(const std::vector<PlacedLane>& lanes, std::vector<Counted>& pools) {
  std::unordered_map<std::size_t, PlacementSupply> supplies;
  for (const PlacedLane& lane : lanes) {
    const auto [supply, fresh] = supplies.try_emplace(lane.pool);
    if (fresh) supply->second = placementSupply(s_, *pools[lane.pool].pool);
    Placement rules = parsePlacement(lane.placement);
    if (!lane.host.empty()) rules = atHost(std::move(rules), lane.host);
    if (isPlaceable(rules, supply->second)) continue;
    std::int64_t due = lane.pending;
    for (const Sql& others : {kNotDueInLane, kExpiredInLane}) {
      auto rows = s_.db.query(others, lane.id, s_.now);
      if (rows.next()) due -= rows->integer(0);
    }
    pools[lane.pool].stats.unplaceable += std::max<std::int64_t>(due, 0);
  }
}

std::vector<Pools::Counted> Pools::overview() {
  s_.flushCounts();
  std::vector<Counted> pools;
  std::unordered_map<std::string, std::size_t> places;
  for (auto& pool : list("", std::numeric_limits<int>::max())) {
    places[pool->id.str()] = pools.size();
    pools.push_back({std::move(pool), {}});
  }
  const auto find = [&](const SqlRows& row) -> std::optional<std::size_t> {
    const auto place = places.find(row.string(0));
    return place == places.end() ? std::nullopt : std::optional(place->second);
  };

  std::vector<PlacedLane> placed;
  {
    auto rows = s_.db.query(kLanesOfAll);
    while (rows.next()) {
      const auto place = find(*rows);
      if (!place) continue;
      PoolStats& stats = pools[*place].stats;
      stats.pending += rows->integer(3);
      stats.claimed += rows->integer(4);
      stats.done += rows->integer(5);
      stats.poisoned += rows->integer(6);
      stats.cancelled += rows->integer(7);
      stats.blocked += rows->integer(9);
      if (!rows->isNull(8)) {
        const double age = std::chrono::duration<double>(s_.now - rows->time(8)).count();
        stats.oldest_pending_seconds = std::max(stats.oldest_pending_seconds, age);
      }
      const std::string pin = rows->string(10);
      const auto holder = lane_pin::isOpen(pin) ? std::nullopt : parseHolder(pin);
      if (holder) stats.pinned += rows->integer(3);
      if (rows->integer(3) == 0 || (holder && holder->kind == Holder::Kind::kWorker)) continue;
      if (holder || !rows->text(2).empty()) {
        placed.push_back({*place, rows->integer(1), rows->integer(3), rows->string(2),
                          holder ? holder->name : std::string()});
      }
    }
  }
  {
    auto rows = s_.db.query(kWorkersOfAll);
    while (rows.next()) {
      const auto place = find(*rows);
      if (!place) continue;
      PoolStats& stats = pools[*place].stats;
      stats.starting_workers = rows->integer(1);
      stats.active_workers = stats.idle_workers = rows->integer(2);
      stats.terminating_workers = rows->integer(3);
      stats.lost_workers = rows->integer(4);
    }
  }
  {
    auto rows = s_.db.query(kBusyOfAll);
    while (rows.next()) {
      const auto place = find(*rows);
      if (!place) continue;
      PoolStats& stats = pools[*place].stats;
      stats.busy_workers = rows->integer(1);
      stats.idle_workers = stats.active_workers - stats.busy_workers;
    }
  }
  countUnplaceable(placed, pools);
  return pools;
}

}  // namespace muster

#include "models/store/sql/placing.h"

#include <algorithm>

#include "models/json/job_json.h"
#include "models/policy/pins.h"
#include "models/store/sql/cluster.h"
#include "models/store/sql/workers.h"

namespace muster {
namespace {

constexpr std::size_t kMostGroups = 10;

constexpr Sql kHasPlacements{
    "SELECT 1 FROM lanes WHERE pool_id = $1 AND (placement <> '' OR pin = $2) LIMIT 1"};
// Also of those that are pinned to this host.
constexpr Sql kPendingPlacements{
    "SELECT l.placement, l.pin FROM lanes l JOIN lane_counts c ON c.lane_id = l.lane_id "
    "WHERE l.pool_id = $1 AND (l.pin < 'a' OR l.pin = $2) "
    "GROUP BY l.placement, l.pin HAVING sum(c.pending) > 0"};
constexpr Sql kNeededByLane{
    "SELECT (SELECT r.resource_id FROM job_refs f JOIN resources r "
    "ON r.resource_seq = f.resource_seq WHERE f.job_seq = j.seq AND r.holder = $2 LIMIT 1), "
    "(SELECT a.affinity_key FROM job_pins p JOIN affinities a "
    "ON a.affinity_seq = p.affinity_seq WHERE p.seq = j.seq) "
    "FROM jobs j WHERE j.lane_id = $1 AND j.status = 'pending' ORDER BY j.seq LIMIT 1"};

// What this service would launch for the pool; absent: nothing.
std::optional<WorkerTraits> launchable(const Session& session, const Pool& pool) {
  const StoreRules& rules = session.rules;
  const auto made = rules.templates.find(pool.settings.template_name.value_or(""));
  if (!made) return std::nullopt;
  return WorkerTraits{rules.host, rules.region, made->capabilities, made->executors};
}

std::string hostPin(const std::string& host) { return Holder{Holder::Kind::kHost, host}.text(); }

// What the first job of a lane needs of the host it is pinned to.
std::string neededThere(Session& session, const PinnedToHost& pinned) {
  auto rows = session.db.query(kNeededByLane, pinned.lane, hostPin(pinned.host));
  if (!rows.next()) return "what they need";
  if (!rows->isNull(0)) return "the file " + rows->string(0);
  return rows->isNull(1) ? "what they need" : "the key " + rows->string(1);
}

bool isAnybodyOn(const std::string& host, const PlacementSupply& supply) {
  const auto is_there = [&](const WorkerTraits& worker) { return worker.node == host; };
  return std::any_of(supply.workers.begin(), supply.workers.end(), is_there) ||
         (supply.launchable && is_there(*supply.launchable));
}

}  // namespace

PlacementSupply placementSupply(Session& session, const Pool& pool) {
  PlacementSupply supply;
  supply.workers = Workers(session).traitsInPool(pool.id);
  supply.template_name = pool.settings.template_name.value_or("");
  supply.launchable = launchable(session, pool);
  return supply;
}

std::vector<Placement> pendingForLaunched(Session& session, const Pool& pool) {
  std::vector<Placement> found;
  session.flushCounts();
  const auto launched = launchable(session, pool);
  if (!launched) return found;
  auto rows = session.db.query(kPendingPlacements, pool.id, hostPin(session.rules.host));
  while (rows.next()) {
    Placement placement = rows->text(0).empty() ? Placement() : parsePlacement(rows->text(0));
    if (!lane_pin::isOpen(rows->text(1))) placement = atHost(placement, session.rules.host);
    if (!placementObstacle(placement, *launched, 0)) found.push_back(std::move(placement));
  }
  return found;
}

bool hasJobsBoundHere(Session& session, const Pool& pool) {
  if (!session.db.query(kHasPlacements, pool.id, hostPin(session.rules.host)).next())
    return false;  // as in most pools
  const auto placements = pendingForLaunched(session, pool);
  return std::any_of(placements.begin(), placements.end(), [](const Placement& placement) {
    return !isPlaceable(placement, PlacementSupply{});  // it asks for something
  });
}

void tellUnplaceable(Session& session, PlacementSupply supply,
                     const std::map<std::string, std::int64_t>& jobs,
                     const std::map<std::string, PinnedToHost>& on_hosts, PoolStats& stats) {
  if (jobs.empty()) return;
  std::vector<UnplaceableJobs> groups;
  for (const auto& [placement, count] : jobs) {
    stats.unplaceable += count;
    groups.push_back({count, placement, {}});
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  if (groups.size() > kMostGroups) groups.resize(kMostGroups);
  supply.other_nodes = Cluster(session).otherHosts();
  for (UnplaceableJobs& group : groups) {
    const auto pinned = on_hosts.find(group.placement);
    if (pinned != on_hosts.end() && !isAnybodyOn(pinned->second.host, supply)) {
      group.reason = nobodyRunsOn(pinned->second.host, neededThere(session, pinned->second));
    } else {
      group.reason = whyUnplaceable(parsePlacement(group.placement), supply);
    }
  }
  stats.unplaceable_jobs = std::move(groups);
}

}  // namespace muster

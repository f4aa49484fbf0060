#include "models/store/sql/placing.h"

#include <algorithm>

#include "models/json/job_json.h"
#include "models/store/sql/cluster.h"
#include "models/store/sql/workers.h"

namespace muster {
namespace {

constexpr std::size_t kMostGroups = 10;

constexpr Sql kHasPlacements{"SELECT 1 FROM lanes WHERE pool_id = $1 AND placement <> '' LIMIT 1"};
constexpr Sql kPendingPlacements{
    "SELECT l.placement FROM lanes l JOIN lane_counts c ON c.lane_id = l.lane_id "
    "WHERE l.pool_id = $1 GROUP BY l.placement HAVING sum(c.pending) > 0"};

// What this service would launch for the pool; absent: nothing.
std::optional<WorkerTraits> launchable(const Session& session, const Pool& pool) {
  const StoreRules& rules = session.rules;
  const auto made = rules.templates.find(pool.settings.template_name.value_or(""));
  if (!made) return std::nullopt;
  return WorkerTraits{rules.host, rules.region, made->capabilities, made->executors};
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
  auto rows = session.db.query(kPendingPlacements, pool.id);
  while (rows.next()) {
    Placement placement = rows->text(0).empty() ? Placement() : parsePlacement(rows->text(0));
    if (!placementObstacle(placement, *launched, 0)) found.push_back(std::move(placement));
  }
  return found;
}

bool hasJobsBoundHere(Session& session, const Pool& pool) {
  if (!session.db.query(kHasPlacements, pool.id).next()) return false;  // as in most pools
  const auto placements = pendingForLaunched(session, pool);
  return std::any_of(placements.begin(), placements.end(), [](const Placement& placement) {
    return !isPlaceable(placement, PlacementSupply{});  // it asks for something
  });
}

void tellUnplaceable(Session& session, PlacementSupply supply,
                     const std::map<std::string, std::int64_t>& jobs, PoolStats& stats) {
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
    group.reason = whyUnplaceable(parsePlacement(group.placement), supply);
  }
  stats.unplaceable_jobs = std::move(groups);
}

}  // namespace muster

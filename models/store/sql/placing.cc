#include "models/store/sql/placing.h"

#include <algorithm>

#include "models/json/job_json.h"
#include "models/store/sql/cluster.h"
#include "models/store/sql/workers.h"

namespace muster {
namespace {

constexpr std::size_t kMostGroups = 10;

}  // namespace

PlacementSupply placementSupply(Session& session, const Pool& pool) {
  PlacementSupply supply;
  supply.workers = Workers(session).traitsInPool(pool.id);
  supply.template_name = pool.settings.template_name.value_or("");
  const auto made = session.rules.templates.find(supply.template_name);
  if (made != session.rules.templates.end()) {
    supply.launchable = WorkerTraits{session.rules.host, session.rules.region,
                                     made->second.capabilities, made->second.executors};
  }
  return supply;
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

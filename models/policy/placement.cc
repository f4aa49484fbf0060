#include "models/policy/placement.h"

#include <algorithm>

namespace muster {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

bool Placement::empty() const { return *this == Placement{}; }

std::optional<std::string> placementObstacle(const Placement& placement, const WorkerTraits& worker,
                                             int running_on_node) {
  if (placement.unreadable) return "the placement cannot be read";
  if (contains(placement.forbidden_nodes, worker.node))
    return "node " + worker.node + " is forbidden";
  if (placement.allowed_nodes && !contains(*placement.allowed_nodes, worker.node)) {
    return "node " + worker.node + " is not among allowed_nodes";
  }
  for (const auto& executor : placement.executors) {
    if (!contains(worker.executors, executor)) return "needs executor " + executor;
  }
  for (const auto& capability : placement.capabilities) {
    if (!contains(worker.capabilities, capability)) return "needs capability " + capability;
  }
  if (!placement.region.empty() && placement.region != worker.region) {
    return "needs region " + placement.region;
  }
  if (placement.max_parallel_per_node && running_on_node >= *placement.max_parallel_per_node) {
    return "node " + worker.node + " already runs " + std::to_string(running_on_node);
  }
  return std::nullopt;
}

}  // namespace muster

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/policy/placement.h"

namespace muster {

// Who there is to run the jobs of a pool.
struct PlacementSupply {
  std::vector<WorkerTraits> workers;       // the pool's, alive
  std::string template_name;               // the pool's; empty: it names none
  std::optional<WorkerTraits> launchable;  // what this service would launch; absent: nothing
  std::vector<std::string> other_nodes;    // where other services of the cluster launch
};

// Whether a worker that is alive, or one that this service can launch, may run such a job. Limits
// that only hold for now (max_parallel_per_node) do not count, and who asks nothing of a worker can
// always be placed: anybody may come and claim it.
bool isPlaceable(const Placement& placement, const PlacementSupply& supply);

// Why not, in one sentence without a full stop; only for what is not placeable. Of other services
// no more is known than where they launch.
std::string whyUnplaceable(const Placement& placement, const PlacementSupply& supply);

// Why not, of jobs that are pinned to a host where nobody is and this service launches nobody:
// `what` they need is there ("the file r1").
std::string nobodyRunsOn(const std::string& host, const std::string& what);

// Pending jobs that are due and cannot be placed, all with one placement.
struct UnplaceableJobs {
  std::int64_t count = 0;
  std::string placement;  // JSON
  std::string reason;

  bool operator==(const UnplaceableJobs&) const = default;
};

// "3 jobs cannot be placed: …"; `largest` has the greatest group first. Empty without such jobs.
std::string unplaceableText(std::int64_t count, const std::vector<UnplaceableJobs>& largest);

}  // namespace muster

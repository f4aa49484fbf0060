#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/policy/unplaceable.h"
#include "models/pool.h"
#include "models/store/sql/session.h"

namespace muster {

// Who could run the pool's jobs; of other nodes nothing yet.
PlacementSupply placementSupply(Session& session, const Pool& pool);

// What pending jobs of the pool ask for, each once, as far as a worker launched here would have it.
std::vector<Placement> pendingForLaunched(Session& session, const Pool& pool);
// Whether pending jobs of the pool ask something of their worker that one launched here would have,
// so that this service may be the only one to launch it.
bool hasJobsBoundHere(Session& session, const Pool& pool);

// Puts the jobs that cannot be placed into the stats, the largest groups with the reason. `jobs`
// counts them by their placement (JSON); `on_hosts` says of those that are pinned to a host to
// which, and gives a lane of theirs.
struct PinnedToHost {
  std::string host;
  std::int64_t lane = 0;
};
void tellUnplaceable(Session& session, PlacementSupply supply,
                     const std::map<std::string, std::int64_t>& jobs,
                     const std::map<std::string, PinnedToHost>& on_hosts, PoolStats& stats);

}  // namespace muster

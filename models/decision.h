#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/ids.h"
#include "models/policy/unplaceable.h"
#include "models/time.h"

namespace muster {

// What the checker decided about a pool, with all it went by.
struct Decision {
  std::int64_t id = 0;  // 0: a preview, or the same as the one before
  PoolId pool;
  Time at;
  std::string trigger;
  std::string inputs;  // JSON object
  std::string limits;  // JSON object
  std::string binding_limit;
  std::string direction;  // up, down or hold
  std::int64_t current_workers = 0;
  std::int64_t desired_workers = 0;
  std::int64_t to_launch = 0;
  std::int64_t launched = 0;  // 0 in a preview
  std::string reason;
  std::vector<UnplaceableJobs> unplaceable;  // the largest groups; not kept with the decision
  std::optional<std::int64_t> leader_epoch;  // of the leader it was made for
};

}  // namespace muster

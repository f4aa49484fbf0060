#pragma once

#include <string>
#include <vector>

#include "models/result.h"

namespace muster {

struct PoolAssignments {
  std::string json;                // a PoolSettings body
  std::vector<std::string> unset;  // full names of settings that are to have their default again
};

// Of `key=value` arguments: max_workers=4 or scaling.max_workers=4, paused=true, worker_mode=loop;
// `key=` unsets. The error names every argument that makes no sense.
Result<PoolAssignments> readPoolAssignments(const std::vector<std::string>& assignments);

}  // namespace muster

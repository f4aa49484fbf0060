#pragma once

#include <string>
#include <vector>

#include "models/result.h"

namespace muster {

// The PoolSettings body for `key=value` arguments: max_workers=4 or scaling.max_workers=4,
// paused=true, worker_mode=loop. The error names every argument that makes no sense.
Result<std::string> poolSettingsJson(const std::vector<std::string>& assignments);

}  // namespace muster

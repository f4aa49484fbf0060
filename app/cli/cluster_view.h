#pragma once

#include <optional>
#include <string>

#include "app/cli/table.h"
#include "app/client/json_fields.h"

namespace muster {

// The nodes of a cluster, one line each; who leads is marked, with the epoch and what is left of
// the lease.
Table clusterTable(JsonValue cluster, const std::optional<Time>& now);

}  // namespace muster

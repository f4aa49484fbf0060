#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/table.h"
#include "app/client/json_fields.h"

namespace muster {

// What a flow has done of its work: "12 done, 1 failed, 3 left".
std::string flowProgress(JsonValue flow);

// How many of the jobs have ended, and how many there are.
std::size_t endedJobsOf(JsonValue flow);
std::size_t jobsOf(JsonValue flow);

// Two lines about a flow: what it is called and how it stands; its counts, and since when.
std::string flowHeading(JsonValue flow, const std::optional<Time>& now, bool color);

// One line each.
Table flowTable(const std::vector<JsonValue>& flows, const std::optional<Time>& now);

// The jobs of a flow as a tree: a job stands below those it waits for, and its children are
// indented below it. `jobs` and `edges` in the order in which the service lists them; edges of jobs
// that are not among `jobs` are left out.
Table flowTree(const std::vector<JsonValue>& jobs, const std::vector<JsonValue>& edges,
               const std::optional<Time>& now);

// The first jobs that failed, a line each, as the service names them of a flow.
std::string failedJobsText(JsonValue flow);

}  // namespace muster

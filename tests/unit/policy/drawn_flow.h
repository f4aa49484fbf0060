#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/policy/flow_retry.h"

namespace muster::test {

using Lines = std::vector<std::string>;

// A flow as text, a job a line: its name (that of a child is "parent/child"), its status or how it
// ended, what is special, and the jobs it is after ("!a" is an after_failure edge, "~a" an
// after_any one). Jobs are numbered from 1 in the order of the lines.
struct DrawnFlow {
  std::vector<FlowJobState> jobs;
  std::vector<FlowEdgeState> edges;
  std::map<std::string, std::int64_t> numbers;
  std::map<std::int64_t, std::string> names = {{0, "top"}};
};
DrawnFlow draw(const Lines& lines);

// "p: 1 open, 0 failed, 0 cancelled".
std::string levelText(const std::string& name, const LevelCounts& level);
// What becomes of the jobs, in the order of their numbers, and then of the levels.
Lines described(const FlowRetryPlan& plan, const DrawnFlow& flow);

}  // namespace muster::test

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/policy/verdict.h"

namespace muster {

// What is left to do for a job of a flow; the numbers are those of flow_jobs.todo.
enum class FlowJobTodo { kNothing = 0, kTellVerdict = 1, kTellEdges = 2, kPutBack = 3 };

// A job of a flow as it is when it is to be tried again.
struct FlowJobState {
  std::int64_t seq = 0;     // negative: the job is gone, whatever it ended as
  std::int64_t parent = 0;  // 0: top level
  JobStatus status = JobStatus::kPending;
  EndedAs ended_as = EndedAs::kItself;
  bool may_fail = false;
  FlowJobTodo todo = FlowJobTodo::kNothing;
  std::int64_t told_to = 0;  // with kTellEdges: edges to jobs up to this number are told
  std::int64_t remaining = 0;
};
struct FlowEdgeState {
  std::int64_t upstream = 0, downstream = 0;
  EdgeCondition condition = EdgeCondition::kAfter;
};

// An edge that is not told yet is told later, whatever else happens: it counts as not met.
bool isUntold(const FlowJobState& upstream, std::int64_t downstream);

struct FlowRetryPlan {
  struct Remaining {
    std::int64_t seq, remaining;
    bool operator==(const Remaining&) const = default;
  };
  std::vector<Remaining> put_back;   // become blocked, or pending where nothing remains
  std::vector<Remaining> recounted;  // are blocked, and wait for something again
  struct CancelledAgain {
    std::int64_t seq;
    EndedAs ended_as;
    bool operator==(const CancelledAgain&) const = default;
  };
  std::vector<CancelledAgain> cancelled_again;
  struct Level {
    std::int64_t parent;  // 0: top level
    LevelCounts counts;
  };
  std::vector<Level> levels;  // all there are, as they are then
};

// Puts back every job that ended otherwise than done and is not gone, and judges its edges anew: a
// job with an edge that cannot be met (from a job that keeps its verdict, or was cancelled again)
// is cancelled again, with the reason of the first such edge in the order of upstream numbers.
// With `chosen` only these jobs and what is downstream of them: along edges; from a job that is put
// back to its children, and theirs; from a child to its parent where the parent is done, since the
// verdict of the parent depends on the child then. Done jobs stay done. `jobs` are in the order of
// their numbers, `edges` in the order of downstream, then upstream numbers. Each list of the plan
// is in the order of numbers.
FlowRetryPlan planFlowRetry(std::span<const FlowJobState> jobs,
                            std::span<const FlowEdgeState> edges,
                            const std::optional<std::vector<std::int64_t>>& chosen);

}  // namespace muster

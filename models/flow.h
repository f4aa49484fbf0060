#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ids.h"
#include "models/job.h"
#include "models/policy/verdict.h"
#include "models/time.h"

namespace muster {

// kCancelling: it is to end, and claimed jobs were asked to stop.
enum class FlowStatus { kRunning, kCancelling, kSucceeded, kFailed, kCancelled };

std::string_view name(FlowStatus status);
std::optional<FlowStatus> parseFlowStatus(std::string_view text);
inline bool isEnded(FlowStatus status) {
  return status != FlowStatus::kRunning && status != FlowStatus::kCancelling;
}

// Jobs of all levels by their status.
struct FlowCounts {
  std::int64_t total = 0, blocked = 0, done = 0, poisoned = 0, cancelled = 0;
  std::int64_t live() const { return total - blocked - done - poisoned - cancelled; }
};

struct Flow {
  FlowId id;
  std::string name;    // empty: none
  std::string tenant;  // empty: none; the default of its jobs, like the priority
  std::optional<int> priority;
  FlowStatus status = FlowStatus::kRunning;
  std::string reason;  // of its end, or of the end it is coming to; empty: none
  bool closed = false;
  int round = 1;
  FlowCounts counts;
  bool fail_fast = false;
  std::optional<Time> deadline_at;
  std::string callbacks;  // JSON array, empty: none
  std::string metadata;   // JSON object, empty: none
  Time created_at;
  Time began_at;  // this round
  std::optional<Time> ended_at;
  std::int64_t version = 1;
};

// A job as a producer asks for it in a flow.
struct NewFlowJob {
  NewJob job;
  bool has_priority = false;  // else it has that of the flow
  std::string name;
  PoolId pool;
  struct Edge {
    std::string from;  // name of the upstream job
    EdgeCondition when = EdgeCondition::kAfter;
    std::size_t index = 0;  // its place in the list of its condition, for faults
  };
  std::vector<Edge> edges;
  // Artifacts of upstream jobs that become refs of the job when it is unblocked.
  struct Input {
    std::string from;      // name of an upstream job
    std::string artifact;  // empty: all of them
    std::string as;        // the name of the one, or a folder for all; empty: as they are named
    bool optional = false;
  };
  std::vector<Input> inputs;
  bool may_fail = false;
};

// A job that a flow pushes when it ends.
struct FlowCallback {
  std::string when;  // "succeeded", "failed" or "ended"
  PoolId pool;
  NewJob job;
};

struct FlowEdge {
  std::string from, to;  // names
  EdgeCondition when = EdgeCondition::kAfter;
};

// One line of what a job waited for: an upstream job, or a direct child of one.
struct UpstreamItem {
  std::string name;
  JobId job;
  std::string parent;  // name of the upstream job it is a child of, empty: it is one itself
  std::optional<Verdict> verdict;  // absent: not yet
  JobStatus status = JobStatus::kPending;
  std::optional<std::string> result;  // JSON
  std::string error;
  std::string artifacts;  // JSON array, empty: none
};

}  // namespace muster

#pragma once

#include <string>
#include <string_view>

#include "models/flow.h"
#include "models/policy/verdict.h"

namespace muster {

// Why a flow is cancelled.
namespace flow_cause {
constexpr std::string_view kRequest = "cancel";
constexpr std::string_view kDeadline = "deadline";
constexpr std::string_view kFailFast = "fail_fast";
}  // namespace flow_cause

// The reason on the jobs that are cancelled with it.
std::string_view reasonOfJobs(std::string_view cause);

struct FlowEnd {
  FlowStatus status;
  std::string reason;
};
// How a flow ends whose top level has a verdict. An empty cause: it was not cancelled, and ends as
// its top level did. `reason` is the one it was cancelled with.
FlowEnd howItEnds(std::string_view cause, const LevelCounts& top, const std::string& reason);

// The event of such an end.
std::string_view endEvent(FlowStatus status);
// Whether a callback for "succeeded", "failed" or "ended" is pushed.
bool firesCallback(std::string_view when, FlowStatus status);

}  // namespace muster

#include "models/policy/flow_end.h"

#include "models/event.h"

namespace muster {

std::string_view reasonOfJobs(std::string_view cause) {
  return cause == flow_cause::kRequest ? "flow_cancelled" : cause;
}

FlowEnd howItEnds(std::string_view cause, const LevelCounts& top, const std::string& reason) {
  if (cause == flow_cause::kRequest) return {FlowStatus::kCancelled, reason};
  if (!cause.empty()) return {FlowStatus::kFailed, std::string(cause)};
  switch (verdictOfLevel(top)) {
    case Verdict::kFailed:
      return {FlowStatus::kFailed, "job_failed"};
    case Verdict::kCancelled:
      return {FlowStatus::kCancelled, "job_cancelled"};
    default:
      return {FlowStatus::kSucceeded, ""};
  }
}

std::string_view endEvent(FlowStatus status) {
  switch (status) {
    case FlowStatus::kFailed:
      return event_type::kFlowFailed;
    case FlowStatus::kCancelled:
      return event_type::kFlowCancelled;
    default:
      return event_type::kFlowSucceeded;
  }
}

bool firesCallback(std::string_view when, FlowStatus status) {
  return when == "ended" || (when == "succeeded" && status == FlowStatus::kSucceeded) ||
         (when == "failed" && status == FlowStatus::kFailed);
}

}  // namespace muster

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/flow.h"
#include "models/policy/verdict.h"

namespace muster {

// How a job begins that is added to a flow.
struct FlowJobStart {
  std::int64_t remaining = 0;           // edges that are not met yet; more than 0: it is blocked
  EndedAs ended_as = EndedAs::kItself;  // another: it is cancelled at once, as an edge is not met
  bool operator==(const FlowJobStart&) const = default;
};

// One start for each of the jobs, whose edges make no circle. `known` gives the verdict of a job
// that is not among them; absent: it has none, or one that is not told to all yet.
std::vector<FlowJobStart> startFlowJobs(
    std::span<const NewFlowJob> jobs,
    const std::function<std::optional<Verdict>(std::string_view)>& known);

}  // namespace muster

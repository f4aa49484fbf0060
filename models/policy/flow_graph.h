#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/flow.h"
#include "models/result.h"

namespace muster {

inline constexpr std::size_t kMostFlowJobs = 1000;     // in one request
inline constexpr std::size_t kMostFlowEdges = 10'000;  // in one request

// What is wrong with the jobs of one request, as far as the request alone tells: codes
// duplicate_name (also of a name that stands twice in the lists of one job), too_many_edges, and
// cycle, whose detail names the jobs of the circle, and unknown_dependency of an input that comes
// from no upstream job. Pointers are like /jobs/17/after/2.
std::vector<FieldError> flowGraphFaults(std::span<const NewFlowJob> jobs);

// unknown_dependency for each edge from a job that is neither among `jobs` nor known to `exists`.
std::vector<FieldError> unknownDependencies(std::span<const NewFlowJob> jobs,
                                            const std::function<bool(std::string_view)>& exists);

}  // namespace muster

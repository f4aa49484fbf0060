#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "models/result.h"

namespace muster {

// What a job may hand back within its report, and what it must refer to.
struct InlineRules {
  std::size_t limit_bytes = 2'097'152;  // of a result and the values of its artifacts together
  std::set<std::string, std::less<>> forced_reference_types;  // of artifacts without a value
};

// An artifact whose value came with the report.
struct InlineArtifact {
  std::string type;
  std::size_t bytes = 0;
  std::string pointer;  // where it stands in the request
};

// Refuses a report, which leaves the job claimed: kInlineLimit, or kInvalid with the code
// forced_reference.
Status checkInline(const std::optional<std::string>& result,
                   std::span<const InlineArtifact> artifacts, const InlineRules& rules);

}  // namespace muster

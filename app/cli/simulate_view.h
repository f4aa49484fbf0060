#pragma once

#include <string>
#include <vector>

#include "app/client/json_fields.h"

namespace muster {

// One policy that was tried: what to call it, and what the service answered.
struct TriedPolicy {
  std::string title;
  JsonValue answer;
};

// The time and the load, then the figures side by side: as recorded, and with each policy.
std::string simulationText(const std::vector<TriedPolicy>& tried, std::size_t width, bool color);

}  // namespace muster

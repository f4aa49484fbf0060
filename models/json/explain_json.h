#pragma once

#include <vector>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/policy/adaptive.h"
#include "models/policy/scaling.h"
#include "models/pool.h"
#include "models/result.h"

namespace muster {

// Figures for which somebody wants to know the decision: of adaptive mode or of queue mode.
struct ExplainRequest {
  bool queue = false;
  AdaptiveState adaptive_state;
  AdaptiveConfig adaptive_config;
  ScaleState state;
  ScaleLimits limits;
  ScaleConfig config;
};

// Notes every fault. What the request does not set of the configuration comes from its preset, else
// from `defaults`.
ExplainRequest readExplain(JsonValue value, const PoolSettings& defaults,
                           std::vector<FieldError>& faults);

void writeExplanation(JsonWriter& out, const ExplainRequest& request, Time now);

}  // namespace muster

#pragma once

#include <string>

#include "models/decision.h"
#include "models/json/json_writer.h"
#include "models/policy/scaling.h"

namespace muster {

// The decision as it is kept and shown, with all that it went by.
Decision describeDecision(const ScaleState& state, const ScaleLimits& limits,
                          const ScaleConfig& config, const ScaleDecision& scale);
void writeDecision(JsonWriter& out, const Decision& decision);

}  // namespace muster

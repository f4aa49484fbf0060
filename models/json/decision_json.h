#pragma once

#include <string>

#include "models/decision.h"
#include "models/json/json_writer.h"
#include "models/policy/scaling.h"

namespace muster {

std::string writeScaleState(const ScaleState& state);
std::string writeScaleLimits(const ScaleLimits& limits, const ScaleConfig& config);
void writeDecision(JsonWriter& out, const Decision& decision);

}  // namespace muster

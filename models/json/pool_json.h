#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/policy/circuit.h"
#include "models/policy/launch_breaker.h"
#include "models/pool.h"
#include "models/result.h"

namespace muster {

// Notes every fault; what could be read is in the answer.
PoolSettings readPoolSettings(JsonValue value, std::vector<FieldError>& faults,
                              const std::string& pointer = "");

// Only what is set, as an object.
std::string writePoolSettings(const PoolSettings& settings);

void writePool(JsonWriter& out, const Pool& pool, const LaunchRecord& launches,
               const CircuitRecord& circuit);
void writePoolStats(JsonWriter& out, const PoolId& pool, const PoolStats& stats);

}  // namespace muster

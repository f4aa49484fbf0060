#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/result.h"
#include "models/time_zone.h"
#include "models/trigger_spec.h"

namespace muster {

// Notes every fault under `pointer`; what could be read is in the answer. `name` is what the path
// or the key of a map says, and the trigger may repeat it; empty: the trigger itself must have one.
TriggerSpec readTrigger(JsonValue value, const std::string& pointer, const std::string& name,
                        const ZoneLookup& zones, std::vector<FieldError>& faults);

// For people: without its secrets.
void writeTrigger(JsonWriter& out, const Trigger& trigger, std::optional<Time> next_fire_at);

// For the store, with its secrets, and back.
std::string packTrigger(const TriggerSpec& spec);
TriggerSpec unpackTrigger(const std::string& name, std::string_view text);

}  // namespace muster

#pragma once

#include <string>

#include "models/event.h"
#include "models/json/json_writer.h"

namespace muster {

void writeEvent(JsonWriter& out, const Event& event);
// The flow that an event of a flow is about; empty for other events.
std::string flowOf(const Event& event);

}  // namespace muster

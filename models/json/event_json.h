#pragma once

#include "models/event.h"
#include "models/json/json_writer.h"

namespace muster {

void writeEvent(JsonWriter& out, const Event& event);

}  // namespace muster

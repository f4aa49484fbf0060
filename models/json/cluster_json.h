#pragma once

#include "models/json/json_writer.h"
#include "models/leadership.h"

namespace muster {

void writeLeader(JsonWriter& out, const Leader& leader);
void writeNode(JsonWriter& out, const Node& node, bool leads);

}  // namespace muster

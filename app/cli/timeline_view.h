#pragma once

#include "app/cli/table.h"
#include "app/client/json_fields.h"

namespace muster {

// A line for each piece of a timeline, with a bar for the queue beside its length.
Table timelineTable(JsonValue timeline);

}  // namespace muster

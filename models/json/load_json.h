#pragma once

#include "models/ids.h"
#include "models/json/json_writer.h"
#include "models/timeline.h"

namespace muster {

void writeTimeline(JsonWriter& out, const PoolId& pool, const TimelineSpan& span,
                   std::span<const TimelineItem> items);

}  // namespace muster

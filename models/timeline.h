#pragma once

#include <span>
#include <vector>

#include "models/load.h"

namespace muster {

// Where a timeline begins and ends, and how long each of its pieces is; all whole steps.
struct TimelineSpan {
  Time from, to;
  Millis bucket;
  bool operator==(const TimelineSpan&) const = default;
};

// A span as long as from `from` to `to`, in at most `buckets` pieces of one length. It is moved to
// end with the step that `to` falls in, and begins earlier where the pieces do not come out even.
TimelineSpan timelineSpan(Time from, Time to, int buckets);

struct TimelineItem {
  Time at;
  LoadGauges gauges;              // at the last look in it; without one, as the last before it
  std::int64_t peak_pending = 0;  // of all looks in it
  LoadCounts counts;
};

// The pieces of the span, each with all that `steps` (in their order) tell of it. `before` is what
// was there when the span began.
std::vector<TimelineItem> timeline(const TimelineSpan& span, std::span<const LoadStep> steps,
                                   const LoadGauges& before);

}  // namespace muster

#include "models/timeline.h"

#include <algorithm>

namespace muster {
namespace {

std::int64_t roundedUp(Millis length, Millis unit) { return (length + unit - Millis(1)) / unit; }

}  // namespace

TimelineSpan timelineSpan(Time from, Time to, int buckets) {
  const Time end = loadStepOf(to + kLoadStep - Millis(1));
  const Millis length = std::max<Millis>(to - from, kLoadStep);
  const Millis bucket = kLoadStep * roundedUp(length, kLoadStep * buckets);
  return {end - bucket * roundedUp(length, bucket), end, bucket};
}

std::vector<TimelineItem> timeline(const TimelineSpan& span, std::span<const LoadStep> steps,
                                   const LoadGauges& before) {
  std::vector<TimelineItem> items;
  LoadGauges last = before;
  auto step = steps.begin();
  for (Time at = span.from; at < span.to; at += span.bucket) {
    TimelineItem& item = items.emplace_back();
    item.at = at;
    bool looked = false;
    for (; step != steps.end() && step->at < at + span.bucket; ++step) {
      item.counts.merge(step->counts);
      if (!step->gauges) continue;
      last = *step->gauges;
      item.peak_pending = std::max(item.peak_pending, last.pending);
      looked = true;
    }
    item.gauges = last;
    if (!looked) item.peak_pending = last.pending;
  }
  return items;
}

}  // namespace muster

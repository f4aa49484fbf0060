#include "models/json/load_json.h"

namespace muster {
namespace {

void writeItem(JsonWriter& out, const TimelineItem& item) {
  const LoadCounts& counts = item.counts;
  out.beginObject().field("at", item.at);
  out.field("queue_depth", item.gauges.pending).field("peak_queue_depth", item.peak_pending);
  out.field("claimed", item.gauges.claimed).field("workers", item.gauges.workers);
  out.field("busy_workers", item.gauges.busy_workers);
  out.field("added", counts.added).field("claims", counts.claimed).field("done", counts.done);
  out.field("failed", counts.failed).field("poisoned", counts.poisoned);
  out.field("cancelled", counts.cancelled);
  out.field("wait_p50_ms", counts.waits.percentileMs(0.5));
  out.field("wait_p95_ms", counts.waits.percentileMs(0.95));
  out.field("run_p50_ms", counts.runs.percentileMs(0.5));
  out.field("run_p95_ms", counts.runs.percentileMs(0.95));
  out.field("total_p95_ms", counts.totals.percentileMs(0.95)).endObject();
}

}  // namespace

void writeTimeline(JsonWriter& out, const PoolId& pool, const TimelineSpan& span,
                   std::span<const TimelineItem> items) {
  out.beginObject().field("pool_id", pool).field("from", span.from).field("to", span.to);
  out.field("bucket_seconds", span.bucket / Seconds(1)).key("items").beginArray();
  for (const TimelineItem& item : items) writeItem(out, item);
  out.endArray().endObject();
}

}  // namespace muster

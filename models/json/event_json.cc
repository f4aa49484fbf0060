#include "models/json/event_json.h"

namespace muster {

void writeEvent(JsonWriter& out, const Event& event) {
  out.beginObject().field("seq", event.seq).field("at", event.at).field("type", event.type);
  if (!event.pool.empty()) out.field("pool_id", event.pool);
  if (!event.job.empty()) out.field("job_id", event.job);
  if (!event.worker.empty()) out.field("worker_id", event.worker);
  if (!event.node.empty()) out.field("node_id", event.node);
  out.field("attempt", event.attempt);
  out.key("details").raw(event.details.empty() ? "{}" : event.details).endObject();
}

}  // namespace muster

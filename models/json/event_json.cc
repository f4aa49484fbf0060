#include "models/json/event_json.h"

#include "models/audit.h"
#include "models/json/json_doc.h"

namespace muster {

void writeEvent(JsonWriter& out, const Event& event) {
  out.beginObject().field("seq", event.seq).field("at", event.at).field("type", event.type);
  if (!event.pool.empty()) out.field("pool_id", event.pool);
  if (!event.job.empty()) out.field("job_id", event.job);
  if (!event.worker.empty()) out.field("worker_id", event.worker);
  if (!event.node.empty()) out.field("node_id", event.node);
  out.field("attempt", event.attempt);
  if (!event.caller.empty()) {
    const Caller caller = parseCaller(event.caller);
    if (!caller.name.empty()) out.field("by", caller.name);
    if (!caller.address.empty()) out.field("address", caller.address);
  }
  out.key("details").raw(event.details.empty() ? "{}" : event.details).endObject();
}

std::string flowOf(const Event& event) {
  if (!event.type.starts_with("flow.")) return {};
  const auto details = JsonDoc::parse(event.details);
  if (!details || !details->root().isObject()) return {};
  const JsonValue root = details->root();
  for (auto it = root.begin(); it != root.end(); ++it) {
    if (it.key() == "flow_id") return (*it).string().value_or("");
  }
  return {};
}

}  // namespace muster

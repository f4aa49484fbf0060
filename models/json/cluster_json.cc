#include "models/json/cluster_json.h"

namespace muster {

void writeLeader(JsonWriter& out, const Leader& leader) {
  out.beginObject().field("node_id", leader.node);
  if (!leader.url.empty()) out.field("url", leader.url);
  out.field("epoch", leader.epoch).field("acquired_at", leader.acquired_at);
  out.field("expires_at", leader.expires_at).endObject();
}

void writeNode(JsonWriter& out, const Node& node, bool leads) {
  out.beginObject().field("node_id", node.id).field("role", shownRole(node.role, leads));
  if (!node.url.empty()) out.field("url", node.url);
  out.field("version", node.version).field("host", node.host).field("status", node.status);
  out.field("heartbeat_at", node.heartbeat_at).field("registered_at", node.registered_at);
  out.endObject();
}

}  // namespace muster

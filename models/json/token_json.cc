#include "models/json/token_json.h"

namespace muster {

void writeToken(JsonWriter& out, const TokenView& token) {
  out.beginObject();
  if (!token.name.empty()) out.field("name", token.name);
  out.key("scopes").beginArray();
  for (const Grant& grant : token.scopes) out.value(grantText(grant));
  out.endArray().field("expires_at", token.expires_at);
  if (!token.worker.empty()) out.field("worker_id", token.worker);
  out.endObject();
}

void writeAuditEntry(JsonWriter& out, const AuditEntry& entry) {
  out.beginObject().field("audit_id", entry.id).field("at", entry.at);
  if (!entry.by.name.empty()) out.field("by", entry.by.name);
  out.field("address", entry.by.address).field("method", entry.method).field("path", entry.path);
  out.field("status", entry.status).field("request_id", entry.request_id).endObject();
}

}  // namespace muster

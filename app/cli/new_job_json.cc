#include "app/cli/new_job_json.h"

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"

namespace muster {

Result<std::string> newJobJson(const PushCommand& command, std::string_view data) {
  const auto doc = JsonDoc::parse(data);
  if (!doc) return tl::unexpected(doc.error());
  JsonWriter json;
  json.beginObject().key("data").raw(doc->root().raw());
  json.field("priority", command.priority)
      .field("delay_seconds", command.delay_seconds)
      .field("max_retries", command.max_retries);
  if (command.retry_base_ms || command.retry_cap_ms || command.retry_jitter) {
    json.key("retry").beginObject().field("base_ms", command.retry_base_ms);
    json.field("cap_ms", command.retry_cap_ms).field("jitter", command.retry_jitter).endObject();
  }
  if (!command.tenant.empty()) json.field("tenant", command.tenant);
  if (!command.unique_key.empty()) json.field("unique_key", command.unique_key);
  return json.endObject().take();
}

}  // namespace muster

#include "models/json/problem_json.h"

#include "models/json/json_writer.h"

namespace muster {

std::string writeProblem(const Error& error, std::string_view instance,
                         std::string_view request_id) {
  const ErrorKind& kind = describe(error.code);
  JsonWriter out;
  out.beginObject().field("type", "about:blank").field("title", kind.title);
  out.field("status", kind.status).field("detail", error.detail).field("instance", instance);
  out.field("code", kind.name).field("request_id", request_id);
  out.field("retryable", kind.retryable);
  if (!error.leader_url.empty()) out.field("leader_url", error.leader_url);
  if (!error.fields.empty()) {
    out.key("errors").beginArray();
    for (const FieldError& field : error.fields) {
      out.beginObject().field("pointer", field.pointer).field("code", field.code);
      out.field("detail", field.detail).endObject();
    }
    out.endArray();
  }
  out.endObject();
  return out.take();
}

}  // namespace muster

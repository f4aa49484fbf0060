#include "models/json/problem_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/json/json_reader.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr std::size_t kMostListed = 100;

}  // namespace

std::string writeProblem(const Error& error, std::string_view instance,
                         std::string_view request_id) {
  const ErrorKind& kind = describe(error.code);
  JsonWriter out;
  out.beginObject().field("type", "about:blank").field("title", kind.title);
  out.field("status", kind.status).field("detail", error.detail).field("instance", instance);
  out.field("code", kind.name).field("request_id", request_id);
  out.field("retryable", kind.retryable);
  if (!error.leader_url.empty()) out.field("leader_url", error.leader_url);
  for (const auto& [name, json] : error.members) out.key(name).raw(json);
  if (!error.fields.empty()) {
    out.key("errors").beginArray();
    const auto add = [&out](const FieldError& field) {
      out.beginObject().field("pointer", field.pointer).field("code", field.code);
      out.field("detail", field.detail).endObject();
    };
    const std::size_t listed = std::min(error.fields.size(), kMostListed);
    for (std::size_t i = 0; i < listed; ++i) add(error.fields[i]);
    if (const std::size_t more = error.fields.size() - listed; more > 0) {
      const bool is_all = error.fields.size() < kMostFaults;
      add({"", "more", fmt::format("{}{} more are not listed", is_all ? "" : "at least ", more)});
    }
    out.endArray();
  }
  out.endObject();
  return out.take();
}

}  // namespace muster

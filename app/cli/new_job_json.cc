#include "app/cli/new_job_json.h"

#include <fmt/format.h>

#include <cstdint>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

void writeNewJob(JsonWriter& json, const NewJobOptions& options, std::string_view data) {
  json.key("data").raw(data);
  json.field("priority", options.priority)
      .field("delay_seconds", options.delay_seconds)
      .field("max_retries", options.max_retries);
  if (options.retry_base_ms || options.retry_cap_ms || options.retry_jitter) {
    json.key("retry").beginObject().field("base_ms", options.retry_base_ms);
    json.field("cap_ms", options.retry_cap_ms).field("jitter", options.retry_jitter).endObject();
  }
  if (!options.tenant.empty()) json.field("tenant", options.tenant);
  if (!options.unique_key.empty()) json.field("unique_key", options.unique_key);
}

}  // namespace

Result<std::string> newJobJson(const NewJobOptions& options, std::string_view data) {
  const auto doc = JsonDoc::parse(data);
  if (!doc) return tl::unexpected(doc.error());
  JsonWriter json;
  json.beginObject();
  writeNewJob(json, options, doc->root().raw());
  return json.endObject().take();
}

Result<std::string> newFlowJobJson(const FlowAddCommand& command, std::string_view data) {
  const auto doc = JsonDoc::parse(data);
  if (!doc) return tl::unexpected(doc.error());
  const std::string_view raw = doc->root().raw();
  JsonWriter json;
  json.beginObject().field("name",
                           command.name.empty() ? flowJobName(command.pool, raw) : command.name);
  json.field("pool_id", command.pool);
  writeNewJob(json, command, raw);
  if (!command.after.empty()) json.list("after", command.after);
  if (!command.after_failure.empty()) json.list("after_failure", command.after_failure);
  if (!command.after_any.empty()) json.list("after_any", command.after_any);
  if (command.may_fail) json.field("may_fail", true);
  return json.endObject().take();
}

// FNV-1a of 128 bits: two jobs of one flow with the same hash are not to be expected, and one that
// is there anyway is refused, not lost.
std::string flowJobName(std::string_view pool, std::string_view data) {
  __extension__ using Hash = unsigned __int128;
  constexpr Hash kBasis = (Hash{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;
  constexpr Hash kPrime = (Hash{1} << 88) | 0x13b;
  Hash hash = kBasis;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  };
  add(pool);
  add("\n");
  add(data);
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64),
                     static_cast<std::uint64_t>(hash));
}

}  // namespace muster

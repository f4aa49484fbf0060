#include "models/json/affinity_json.h"

#include <fmt/format.h>

#include <cmath>

#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr std::size_t kMostAffinityMetadata = 16'384;  // bytes
constexpr double kLongestTtlSeconds = 365.0 * 24 * 3600;

std::optional<Millis> readTtl(ObjectReader& in) {
  const auto seconds = in.number("ttl_seconds", 1, kLongestTtlSeconds);
  if (!seconds) return std::nullopt;
  return Millis(std::llround(*seconds * 1000.0));
}

}  // namespace

AffinityBody readAffinity(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  AffinityBody body;
  const auto worker = in.id("worker_id");
  const auto host = in.text("host", 1, 256);
  if (worker && host) {
    in.fault("host", "contradiction", "must not be given together with worker_id");
  } else if (!worker && !host && value.isObject() && !in.has("worker_id") && !in.has("host")) {
    in.fault("worker_id", "required", "is required, or host");
  }
  body.holder = worker ? Holder{Holder::Kind::kWorker, *worker}
                       : Holder{Holder::Kind::kHost, host.value_or("")};
  body.ttl = readTtl(in);
  if (const auto metadata = in.object("metadata")) {
    body.metadata = metadata->raw();
    if (body.metadata->size() > kMostAffinityMetadata) {
      in.fault("metadata", "too_large",
               fmt::format("has more than {} bytes", kMostAffinityMetadata));
    }
  }
  in.finish();
  return body;
}

std::optional<Millis> readAffinityTouch(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  const auto ttl = readTtl(in);
  in.finish();
  return ttl;
}

void writeAffinity(JsonWriter& out, const Affinity& affinity) {
  out.beginObject();
  if (!affinity.tenant.empty()) out.field("tenant", affinity.tenant);
  out.field("key", affinity.key).field("holder", affinity.holder.text());
  if (!affinity.worker.empty()) out.field("worker_id", affinity.worker);
  if (!affinity.host.empty()) out.field("host", affinity.host);
  out.field("state", name(affinity.state)).field("acquired_at", affinity.acquired_at);
  out.field("expires_at", affinity.expires_at);
  out.field("inflight_count", affinity.inflight_count);
  out.field("waiting_count", affinity.waiting_count).field("failures", affinity.failures);
  out.key("metadata").raw(affinity.metadata.empty() ? "{}" : affinity.metadata);
  out.field("version", affinity.version).endObject();
}

}  // namespace muster

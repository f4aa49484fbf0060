#include "models/json/worker_json.h"

#include <cmath>
#include <limits>
#include <unordered_set>

#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr std::size_t kMostNamedResources = 1000;

std::optional<std::string> readObjectText(ObjectReader& in, std::string_view name) {
  const auto value = in.object(name);
  if (!value) return std::nullopt;
  if (value->raw().size() > kMaxWorkerObjectBytes) {
    in.fault(name, "length", "must not be larger than 64 KiB");
    return std::nullopt;
  }
  return std::string(value->raw());
}

// What the metrics of a heartbeat say of resources; all else in them is the worker's own.
ResourceUse readUse(JsonValue metrics, std::vector<FieldError>& faults) {
  ObjectReader in(metrics, "/metrics", faults);
  const auto resource = in.object("resource");
  if (!resource) return {};
  ObjectReader figures(*resource, "/metrics/resource", faults);
  constexpr double kMost = 1e15;
  const auto bytes = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto number = figures.number(name, 0, kMost);
    return number ? std::optional<std::int64_t>(std::llround(*number)) : std::nullopt;
  };
  const ResourceUse use{bytes("disk_bytes_in_use"), bytes("mem_bytes_in_use")};
  for (const char* name : {"sessions_active", "eviction_candidates", "last_gc_seconds"}) {
    figures.number(name, 0, kMost);
  }
  return use;
}

}  // namespace

RegisterRequest readRegistration(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  RegisterRequest request;
  NewWorker& worker = request.worker;
  worker.id = WorkerId(in.id("worker_id").value_or(""));
  worker.pool = in.id("pool_id").value_or("");
  worker.host = in.text("host", 1, 256).value_or("");
  worker.pid = in.integer("pid", 1, std::numeric_limits<std::int32_t>::max());
  worker.capabilities =
      in.texts("capabilities", kMostTraits, kMaxTraitBytes).value_or(std::vector<std::string>{});
  worker.executor_types =
      in.texts("executor_types", kMostTraits, kMaxTraitBytes).value_or(std::vector<std::string>{});
  worker.slots = static_cast<int>(in.integer("slots", 1, 1000).value_or(1));
  worker.mode = in.oneOf("mode", {"once", "loop"}).value_or("");
  worker.region = in.text("region", 1, 128).value_or("");
  worker.started_at = in.time("started_at");
  request.launch_token = in.text("launch_token", 1, 256).value_or("");
  worker.metadata = readObjectText(in, "metadata").value_or("");
  worker.resources =
      in.texts("resources", kMostNamedResources, 256).value_or(std::vector<std::string>{});
  in.finish();
  return request;
}

WorkerChange readWorkerChange(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  WorkerChange change;
  change.status = in.text("status", 1, 64);
  change.metadata = readObjectText(in, "metadata");
  change.current_task = in.text("current_task_id", 0, 128);
  in.finish();
  return change;
}

WorkerChange readHeartbeat(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  WorkerChange change;
  change.metadata = readObjectText(in, "metadata");
  change.metrics = readObjectText(in, "metrics");
  if (const auto metrics = change.metrics ? in.object("metrics") : std::nullopt) {
    change.use = readUse(*metrics, faults);
  }
  change.removed = in.texts("held_resources_evicted", kMostNamedResources, 512)
                       .value_or(std::vector<std::string>{});
  in.finish();
  return change;
}

std::string mergeObjects(std::string_view base, std::string_view change) {
  const auto below = JsonDoc::parse(base), above = JsonDoc::parse(change);
  if (!above || !above->root().isObject()) return std::string(base);
  JsonWriter out;
  out.beginObject();
  std::unordered_set<std::string> changed;
  const JsonValue top = above->root();
  for (auto it = top.begin(); it != top.end(); ++it) changed.insert(it.key());
  if (below && below->root().isObject()) {
    const JsonValue bottom = below->root();
    for (auto it = bottom.begin(); it != bottom.end(); ++it) {
      const std::string name = it.key();
      if (!changed.contains(name)) out.key(name).raw((*it).raw());
    }
  }
  for (auto it = top.begin(); it != top.end(); ++it) {
    if (!(*it).isNull()) out.key(it.key()).raw((*it).raw());
  }
  out.endObject();
  return out.take();
}

std::string writeTexts(const std::vector<std::string>& texts) {
  JsonWriter out;
  out.beginArray();
  for (const auto& text : texts) out.value(text);
  out.endArray();
  return out.take();
}

std::vector<std::string> parseTexts(std::string_view json) {
  std::vector<std::string> texts;
  const auto doc = JsonDoc::parse(json);
  if (!doc) return texts;
  const JsonValue list = doc->root();
  for (auto it = list.begin(); it != list.end(); ++it) {
    texts.push_back((*it).string().value_or(""));
  }
  return texts;
}

void writeWorkerFields(JsonWriter& out, const Worker& worker) {
  out.field("worker_id", worker.id);
  if (!worker.pool.empty()) out.field("pool_id", worker.pool);
  out.field("status", worker.status);
  if (!worker.status_reason.empty()) out.field("status_reason", worker.status_reason);
  if (!worker.mode.empty()) out.field("mode", worker.mode);
  if (!worker.host.empty()) out.field("host", worker.host);
  if (!worker.region.empty()) out.field("region", worker.region);
  out.field("pid", worker.pid);
  out.list("capabilities", worker.capabilities).list("executor_types", worker.executor_types);
  out.field("slots", worker.slots).field("started_at", worker.started_at);
  out.field("last_heartbeat", worker.last_heartbeat);
  if (!worker.current_task.empty()) out.field("current_task_id", worker.current_task);
  out.key("metadata").raw(worker.metadata).key("metrics").raw(worker.metrics);
  out.field("jobs_done", worker.jobs_done).field("jobs_failed", worker.jobs_failed);
  if (worker.launched_at) {
    out.field("template", worker.template_name).field("template_version", worker.template_version);
    out.field("launched_at", worker.launched_at).field("exited_at", worker.exited_at);
    out.field("exit_code", worker.exit_code).field("exit_signal", worker.exit_signal);
    out.field("max_rss_bytes", worker.max_rss_bytes);
  }
  out.field("version", worker.version);
}

void writeResourceLimits(JsonWriter& out, const ResourceLimits& limits) {
  out.key("resource_limits").beginObject().field("disk_bytes", limits.disk_bytes);
  out.field("mem_bytes", limits.mem_bytes).endObject();
}

void writeCommands(JsonWriter& out, std::span<const ResourceCommand> commands) {
  for (const ResourceCommand& command : commands) {
    out.beginObject().field("type", command.scope.empty() ? "evict" : "cleanup_scope");
    if (!command.scope.empty()) out.field("scope", command.scope);
    out.list("resource_ids", command.ids).endObject();
  }
}

void writeWorker(JsonWriter& out, const Worker& worker) {
  out.beginObject();
  writeWorkerFields(out, worker);
  out.endObject();
}

}  // namespace muster

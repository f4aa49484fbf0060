#include "models/json/simulation_json.h"

#include "models/json/json_reader.h"
#include "models/json/pool_json.h"

namespace muster {
namespace {

constexpr std::string_view kSettings[] = {"worker_mode", "slots", "jobs_per_worker", "scaling"};

void writeFigures(JsonWriter& out, std::string_view name, const LoadFigures& figures) {
  out.key(name).beginObject().field("launches", figures.launches);
  out.field("worker_seconds", std::chrono::duration<double>(figures.worker_time).count());
  out.field("p50_wait_ms", figures.p50_wait.count());
  out.field("p95_wait_ms", figures.p95_wait.count());
  out.field("max_wait_ms", figures.max_wait.count());
  out.field("peak_workers", figures.peak_workers).field("wasted_starts", figures.wasted_starts);
  out.field("unfinished_jobs", figures.unfinished).field("finished_at", figures.finished_at);
  out.endObject();
}

// Of all settings those that a simulation goes by.
std::string policyJson(const PoolSettings& settings) {
  PoolSettings shown;
  eachPoolField([&](std::string_view group, std::string_view name, auto member, const FieldRule&) {
    const bool counts =
        group == "scaling" || name == "worker_mode" || name == "slots" || name == "jobs_per_worker";
    if (counts) shown.*member = settings.*member;
  });
  return writePoolSettings(shown);
}

}  // namespace

SimulationRequest readSimulation(JsonValue value, std::vector<FieldError>& faults) {
  SimulationRequest request;
  ObjectReader in(value, "", faults);
  request.from = in.time("from");
  request.to = in.time("to");
  if (request.from && request.to && *request.from >= *request.to) {
    in.fault("from", "range", "must be before to");
  }
  // A pool has more settings than those that may be tried.
  JsonWriter settings;
  settings.beginObject();
  for (const std::string_view name : kSettings) {
    if (const auto raw = in.raw(name)) settings.key(name).raw(*raw);
  }
  settings.endObject();
  const std::string text = settings.take();
  if (const auto doc = JsonDoc::parse(text)) {
    request.changes = readPoolSettings(doc->root(), faults);
  }
  in.finish();
  return request;
}

void writeSimulation(JsonWriter& out, const SimulationReport& report) {
  out.beginObject().field("pool_id", report.pool);
  out.field("from", report.from).field("to", report.to);
  out.field("jobs", report.jobs).field("tries", report.tries).field("left_out", report.left_out);
  out.key("policy").raw(policyJson(report.policy));
  writeFigures(out, "simulated", report.simulated);
  writeFigures(out, "recorded", report.recorded);
  out.field("note", report.note).endObject();
}

}  // namespace muster

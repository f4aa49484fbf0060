#include "models/json/explain_json.h"

#include <algorithm>
#include <limits>

#include "models/decision.h"
#include "models/json/decision_json.h"
#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr std::int64_t kMany = 1'000'000;
constexpr std::int64_t kCount = std::numeric_limits<std::int32_t>::max();

void checkBounds(std::int64_t min_workers, std::int64_t max_workers,
                 std::vector<FieldError>& faults) {
  if (min_workers <= max_workers) return;
  addFault(faults, {"/config/min_workers", "contradiction", "must not be above max_workers"});
}

AdaptiveState readAdaptiveState(ObjectReader& in) {
  AdaptiveState state;
  state.current_workers = in.required("current_workers", in.integer("current_workers", 0, kMany));
  state.queue_depth = in.required("queue_depth", in.integer("queue_depth", 0, kCount));
  state.p95_latency_ms =
      in.required("p95_latency_ms", in.number("p95_latency_ms", 0, static_cast<double>(kCount)));
  state.in_flight_jobs = in.required("in_flight_jobs", in.integer("in_flight_jobs", 0, kCount));
  if (const auto age = in.integer("last_scale_age_ms", -kCount * 1000, kCount * 1000)) {
    state.last_scale_age = Millis(*age);
  }
  in.unused({"runnable", "pending", "busy", "claimed", "idle", "free_slots", "starting",
             "terminating", "maybe_alive", "host_slots_free", "launch_tokens", "breaker_allowance",
             "resource_allowance"});
  return state;
}

void readAdaptiveConfig(ObjectReader& in, AdaptiveConfig& config) {
  const auto set = [&in](std::string_view name, std::int64_t most, std::int64_t& field) {
    if (const auto value = in.integer(name, 0, most)) field = *value;
  };
  set("max_workers", kMany, config.max_workers);
  config.min_workers = std::min(config.min_workers, config.max_workers);
  set("min_workers", kMany, config.min_workers);
  set("target_queue_depth", kCount, config.target_queue_depth);
  set("scale_up_step", kMany, config.scale_up_step);
  set("scale_down_step", kMany, config.scale_down_step);
  if (const auto target = in.number("target_p95_latency_ms", 0, static_cast<double>(kCount))) {
    config.target_p95_latency_ms = *target;
  }
  if (const auto interval = in.integer("scale_decision_interval_ms", 0, kCount)) {
    config.interval = Millis(*interval);
  }
  in.unused({"warm_idle", "slots", "jobs_per_worker", "worker_mode"});
}

void readQueueConfig(ObjectReader& in, ScaleConfig& config) {
  config.max_workers = in.integer("max_workers", 0, kMany).value_or(config.max_workers);
  config.min_workers = in.integer("min_workers", 0, kMany)
                           .value_or(std::min(config.min_workers, config.max_workers));
  config.warm_idle = in.integer("warm_idle", 0, kMany).value_or(0);
  config.slots = in.integer("slots", 1, 1000).value_or(1);
  config.jobs_per_worker = in.integer("jobs_per_worker", 1, kMany).value_or(1);
  config.loop = in.oneOf("worker_mode", {"once", "loop"}) == "loop";
  in.unused({"target_queue_depth", "scale_up_step", "scale_down_step", "target_p95_latency_ms",
             "scale_decision_interval_ms"});
}

void readQueueState(ObjectReader& in, const ScaleConfig& config, ExplainRequest& request) {
  const auto count = [&in](std::string_view name, std::int64_t otherwise = 0) {
    return in.integer(name, 0, kCount).value_or(otherwise);
  };
  ScaleState& state = request.state;
  state.runnable = count("runnable");
  state.pending = count("pending", state.runnable);
  state.busy = count("busy");
  state.claimed = count("claimed", state.busy);
  state.idle = count("idle");
  state.free_slots = count("free_slots", state.idle * config.slots);
  state.starting = count("starting");
  state.terminating = count("terminating");
  state.maybe_alive = count("maybe_alive");
  request.limits.host_slots = in.integer("host_slots_free", 0, kCount);
  request.limits.launch_tokens = in.integer("launch_tokens", 0, kCount);
  request.limits.breaker = in.integer("breaker_allowance", 0, kCount);
  request.limits.resource_pressure = in.integer("resource_allowance", 0, kCount);
  in.unused(
      {"current_workers", "queue_depth", "p95_latency_ms", "in_flight_jobs", "last_scale_age_ms"});
}

AdaptiveConfig adaptiveDefaults(const PoolSettings& defaults) {
  PoolSettings adaptive;
  adaptive.scaling_mode = "adaptive";
  return adaptiveConfigOf(inForce(defaults, adaptive));
}

void writeAdaptiveConfig(JsonWriter& out, const AdaptiveConfig& config) {
  out.beginObject().field("min_workers", config.min_workers);
  out.field("max_workers", config.max_workers);
  out.field("target_p95_latency_ms", config.target_p95_latency_ms);
  out.field("target_queue_depth", config.target_queue_depth);
  out.field("scale_up_step", config.scale_up_step);
  out.field("scale_down_step", config.scale_down_step);
  out.field("scale_decision_interval_ms", config.interval.count()).endObject();
}

void writeTexts(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name).beginArray();
  for (const std::string& text : texts) out.value(text);
  out.endArray();
}

void writeAdaptive(JsonWriter& out, const ExplainRequest& request) {
  const std::int64_t current = request.adaptive_state.current_workers;
  const AdaptiveDecision decision = decideAdaptive(request.adaptive_state, request.adaptive_config);
  out.beginObject().field("direction", decision.direction).field("current_workers", current);
  out.field("desired_workers", decision.desired_workers);
  out.field("delta", decision.desired_workers - current).field("reason", decision.reason);
  writeTexts(out, "up_reasons", decision.up_reasons);
  writeTexts(out, "down_blockers", decision.down_blockers);
  out.key("cooldown").beginObject().field("active", decision.cooldown_left > Millis(0));
  out.field("remaining_ms", decision.cooldown_left.count());
  if (decision.clock_skew > Millis(0)) out.field("clock_skew_ms", decision.clock_skew.count());
  out.endObject().key("config");
  writeAdaptiveConfig(out, request.adaptive_config);
  out.endObject();
}

}  // namespace

ExplainRequest readExplain(JsonValue value, const PoolSettings& defaults,
                           std::vector<FieldError>& faults) {
  ExplainRequest request;
  ObjectReader in(value, "", faults);
  request.queue = in.oneOf("mode", {"adaptive", "queue"}) == "queue";
  const auto state = in.object("state");
  const auto config = in.object("config");
  if (!state && !in.has("state")) in.fault("state", "required", "is required");
  if (request.queue) {
    request.config.min_workers = *defaults.min_workers;
    request.config.max_workers = *defaults.max_workers;
    if (config) {
      ObjectReader fields(*config, "/config", faults);
      readQueueConfig(fields, request.config);
      fields.finish();
    }
    if (state) {
      ObjectReader fields(*state, "/state", faults);
      readQueueState(fields, request.config, request);
      fields.finish();
    }
    checkBounds(request.config.min_workers, request.config.max_workers, faults);
    in.unused({"preset"});
  } else {
    const auto preset =
        in.oneOf("preset", {"low-latency", "high-throughput", "balanced", "cost-optimized"});
    request.adaptive_config = preset ? *findPreset(*preset) : adaptiveDefaults(defaults);
    if (config) {
      ObjectReader fields(*config, "/config", faults);
      readAdaptiveConfig(fields, request.adaptive_config);
      fields.finish();
    }
    if (state) {
      ObjectReader fields(*state, "/state", faults);
      request.adaptive_state = readAdaptiveState(fields);
      fields.finish();
    }
    checkBounds(request.adaptive_config.min_workers, request.adaptive_config.max_workers, faults);
  }
  in.finish();
  return request;
}

void writeExplanation(JsonWriter& out, const ExplainRequest& request, Time now) {
  if (!request.queue) return writeAdaptive(out, request);
  Decision decision = describeDecision(request.state, request.limits, request.config,
                                       decideScale(request.state, request.limits, request.config));
  decision.at = now;
  decision.trigger = "explain";
  writeDecision(out, decision);
}

}  // namespace muster

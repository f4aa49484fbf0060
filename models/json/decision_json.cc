#include "models/json/decision_json.h"

namespace muster {

namespace {

std::string writeState(const ScaleState& state, const ScaleConfig& config, bool acts) {
  JsonWriter out;
  out.beginObject().field("runnable", state.runnable).field("elsewhere", state.elsewhere);
  out.field("unplaceable", state.unplaceable).field("pending", state.pending);
  out.field("claimed", state.claimed).field("free_slots", state.free_slots);
  out.field("starting", state.starting).field("busy", state.busy).field("idle", state.idle);
  out.field("terminating", state.terminating).field("maybe_alive", state.maybe_alive);
  if (config.loop) out.field("drainable", state.drainable);
  out.field("spare_for_a_while", state.spare_for_a_while);
  if (state.scheduled_floor > 0) out.field("scheduled_floor", state.scheduled_floor);
  if (state.predicted_floor > 0) out.field("predicted_floor", state.predicted_floor);
  out.field("circuit_allows", state.circuit_allows);
  if (config.adaptive) {
    out.field("p95_latency_ms", state.p95_latency_ms);
    if (!config.loop) out.field("level", state.level);
    // Where it decides nothing it would only make every decision another one.
    if (state.last_scale_age && (acts || *state.last_scale_age < config.adaptive->interval)) {
      out.field("last_scale_age_ms", state.last_scale_age->count());
    }
  }
  out.endObject();
  return out.take();
}

std::string writeLimits(const ScaleLimits& limits, const ScaleConfig& config) {
  JsonWriter out;
  out.beginObject().field("min_workers", config.min_workers);
  out.field("max_workers", config.max_workers).field("target_workers", config.target_workers);
  if (config.warm_idle > 0) out.field("warm_idle", config.warm_idle);
  if (config.adaptive) {
    out.field("target_p95_latency_ms", config.adaptive->target_p95_latency_ms);
    out.field("target_queue_depth", config.adaptive->target_queue_depth);
    out.field("scale_up_step", config.adaptive->scale_up_step);
    out.field("scale_down_step", config.adaptive->scale_down_step);
    out.field("scale_decision_interval_ms", config.adaptive->interval.count());
  }
  out.field("host_slots", limits.host_slots).field("launch_tokens", limits.launch_tokens);
  out.field("breaker", limits.breaker);
  out.field("resource_pressure", limits.resource_pressure).endObject();
  return out.take();
}

}  // namespace

Decision describeDecision(const ScaleState& state, const ScaleLimits& limits,
                          const ScaleConfig& config, const ScaleDecision& scale) {
  Decision decision;
  decision.inputs = writeState(state, config, scale.direction != "hold");
  decision.limits = writeLimits(limits, config);
  decision.binding_limit = scale.binding_limit;
  decision.direction = scale.direction;
  decision.current_workers = scale.current_workers;
  decision.desired_workers = scale.desired_workers;
  decision.to_launch = scale.to_launch;
  decision.reason = scale.reason;
  decision.unplaceable = state.unplaceable_jobs;
  return decision;
}

void writeDecision(JsonWriter& out, const Decision& decision) {
  out.beginObject();
  if (decision.id > 0) out.field("id", std::to_string(decision.id));
  if (!decision.pool.empty()) out.field("pool_id", decision.pool);
  out.field("at", decision.at).field("trigger", decision.trigger);
  out.key("inputs").raw(decision.inputs).key("limits").raw(decision.limits);
  out.field("binding_limit", decision.binding_limit).field("direction", decision.direction);
  out.field("current_workers", decision.current_workers);
  out.field("desired_workers", decision.desired_workers);
  out.field("to_launch", decision.to_launch).field("launched", decision.launched);
  out.field("reason", decision.reason);
  if (!decision.unplaceable.empty()) {
    out.key("unplaceable").beginArray();
    for (const UnplaceableJobs& jobs : decision.unplaceable) {
      out.beginObject().field("count", jobs.count).key("placement").raw(jobs.placement);
      out.field("reason", jobs.reason).endObject();
    }
    out.endArray();
  }
  out.field("leader_epoch", decision.leader_epoch).endObject();
}

}  // namespace muster

#include "models/json/decision_json.h"

namespace muster {

std::string writeScaleState(const ScaleState& state) {
  JsonWriter out;
  out.beginObject().field("runnable", state.runnable).field("elsewhere", state.elsewhere);
  out.field("unplaceable", state.unplaceable).field("pending", state.pending);
  out.field("claimed", state.claimed).field("free_slots", state.free_slots);
  out.field("starting", state.starting).field("busy", state.busy).field("idle", state.idle);
  out.field("terminating", state.terminating).field("maybe_alive", state.maybe_alive);
  out.field("circuit_allows", state.circuit_allows).endObject();
  return out.take();
}

std::string writeScaleLimits(const ScaleLimits& limits, const ScaleConfig& config) {
  JsonWriter out;
  out.beginObject().field("min_workers", config.min_workers);
  out.field("max_workers", config.max_workers).field("target_workers", config.target_workers);
  out.field("host_slots", limits.host_slots).field("launch_tokens", limits.launch_tokens);
  out.field("breaker", limits.breaker).endObject();
  return out.take();
}

void writeDecision(JsonWriter& out, const Decision& decision) {
  out.beginObject();
  if (decision.id > 0) out.field("id", std::to_string(decision.id));
  out.field("pool_id", decision.pool).field("at", decision.at).field("trigger", decision.trigger);
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

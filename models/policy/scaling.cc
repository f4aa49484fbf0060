#include "models/policy/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr auto kSpareFor = Seconds(60);  // so long a worker must have been to spare to be stopped

std::int64_t ceilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

ScaleDecision hold(const ScaleState& state, std::string_view limit, std::string reason) {
  ScaleDecision decision;
  decision.current_workers = decision.desired_workers = state.current();
  decision.level = state.level;
  decision.binding_limit = limit;
  decision.reason = std::move(reason);
  return decision;
}

// Once-workers without a job to claim would only come and go.
std::int64_t usable(std::int64_t wanted, const ScaleState& state, const ScaleConfig& config) {
  return config.loop ? wanted : std::min(wanted, state.launchable() + state.claimed);
}

// Places for jobs that are free, or will be with the workers on their way.
std::int64_t coming(const ScaleState& state, const ScaleConfig& config) {
  return state.free_slots + state.starting * std::max<std::int64_t>(config.slots, 1);
}

// The least number of workers that is wanted, and by whom.
struct Floor {
  std::int64_t workers;
  std::string_view because;
};

Floor floorOf(const ScaleState& state, std::int64_t min_workers) {
  if (state.predicted_floor > std::max(min_workers, state.scheduled_floor)) {
    return {state.predicted_floor, " by prediction"};
  }
  if (state.scheduled_floor > min_workers) return {state.scheduled_floor, " by schedule"};
  return {min_workers, ""};
}

struct Demand {
  std::int64_t launches = 0;
  std::int64_t drains = 0;
  bool drains_busy = false;
  std::int64_t spare = 0;  // workers that nothing asks for now
  std::int64_t level = 0;
  std::string why;
  std::string_view limit = binding_limit::kNoDemand;  // why it asks for nobody, if so
};

// Idle loop workers beyond what jobs, warmth and floor ask for. Those that were started by hand are
// not ours to stop, and once-workers end by themselves.
std::int64_t spareWorkers(const ScaleState& state, const ScaleConfig& config, std::int64_t idle,
                          std::int64_t floor) {
  if (!config.loop) return 0;
  const std::int64_t most = std::min(state.drainable, state.current() - floor);
  return std::max<std::int64_t>(std::min(idle - config.warm_idle, most), 0);
}

Demand queueDemand(const ScaleState& state, const ScaleConfig& config) {
  const std::int64_t slots = std::max<std::int64_t>(config.slots, 1);
  const std::int64_t jobs_each = std::max<std::int64_t>(config.jobs_per_worker, 1);
  const std::int64_t places = coming(state, config);
  const std::int64_t unserved = std::max<std::int64_t>(state.launchable() - places, 0);
  const std::int64_t idle = std::max<std::int64_t>(places - state.launchable(), 0) / slots;
  const std::int64_t warm = std::max<std::int64_t>(config.warm_idle - idle, 0);
  const std::int64_t need = ceilDivide(unserved, jobs_each) + warm;
  const Floor floor = floorOf(state, config.min_workers);
  const std::int64_t below = usable(floor.workers, state, config) - state.current();
  Demand demand;
  demand.launches = std::max({need, below, std::int64_t{0}});
  demand.why = fmt::format("{}, {} free, {} starting", count(state.runnable, "runnable job"),
                           count(state.free_slots, "slot"), state.starting);
  if (state.elsewhere > 0) {
    demand.why += fmt::format(", {} not for workers launched here", count(state.elsewhere, "job"));
  }
  if (warm > 0) demand.why += fmt::format(", {} kept warm", config.warm_idle);
  if (below > need) {
    demand.why += fmt::format(", at least {} wanted{}", floor.workers, floor.because);
  }
  if (demand.launches > 0) return demand;
  demand.spare = spareWorkers(state, config, idle, floor.workers);
  demand.drains = std::min(demand.spare, state.spare_for_a_while.value_or(0));
  demand.why += demand.drains == 0
                    ? ": nobody is needed"
                    : fmt::format(": {} idle for a while, to stop", count(demand.drains, "worker"));
  return demand;
}

Demand targetDemand(const ScaleState& state, const ScaleConfig& config) {
  const std::int64_t target = *config.target_workers;
  Demand demand;
  demand.why = fmt::format("target is {}, {} there", count(target, "worker"), state.current());
  demand.launches = std::max<std::int64_t>(usable(target, state, config) - state.current(), 0);
  demand.drains = std::max<std::int64_t>(state.busy + state.idle - target, 0);
  demand.drains_busy = true;
  if (demand.drains > 0) {
    demand.launches = 0;
    demand.why += fmt::format(": {} to stop", demand.drains);
  } else if (demand.launches == 0) {
    demand.why += ": nobody is needed";
  }
  return demand;
}

Demand adaptiveDemand(const ScaleState& state, const ScaleConfig& config) {
  AdaptiveConfig bounds = *config.adaptive;
  const Floor floor = floorOf(state, bounds.min_workers);
  bounds.min_workers = usable(std::min(floor.workers, bounds.max_workers), state, config);
  // Once-workers end with each job. What is scaled is how many there are at a time, and whoever
  // takes the place of one that ended is no step.
  const std::int64_t level = config.loop ? state.current() : std::max(state.current(), state.level);
  const AdaptiveDecision decision = decideAdaptive(
      {level, state.launchable(), state.p95_latency_ms, state.claimed, state.last_scale_age},
      bounds);
  Demand demand;
  demand.why = decision.reason;
  demand.level = decision.desired_workers;
  if (decision.direction == "up" && decision.desired_workers == bounds.min_workers) {
    demand.why += floor.because;
  }
  const std::int64_t missing = decision.desired_workers - state.current();
  const std::int64_t unserved = config.loop ? missing : state.launchable() - coming(state, config);
  demand.launches = std::max<std::int64_t>(std::min(missing, unserved), 0);
  if (!config.loop && demand.launches < missing) {
    demand.why += fmt::format("; {} without a worker to come",
                              count(std::max<std::int64_t>(unserved, 0), "job"));
  }
  if (demand.launches > 0) return demand;
  if (decision.direction == "hold") {
    if (decision.cooldown_left > Millis(0)) {
      demand.limit = binding_limit::kCooldown;
    } else if (!decision.up_reasons.empty() && level >= bounds.max_workers) {
      demand.limit = binding_limit::kMaxWorkers;
    }
  }
  if (decision.direction != "down") return demand;
  demand.drains = std::min(spareWorkers(state, config, state.idle, bounds.min_workers),
                           state.current() - decision.desired_workers);
  demand.why += demand.drains > 0 ? fmt::format(": {} to stop", demand.drains)
                : config.loop     ? ": nobody is idle"
                                  : ": workers end with their job";
  return demand;
}

Demand demandOf(const ScaleState& state, const ScaleConfig& config) {
  if (config.target_workers) return targetDemand(state, config);
  return config.adaptive ? adaptiveDemand(state, config) : queueDemand(state, config);
}

ScaleDecision decideByDemand(const ScaleState& state, const ScaleLimits& limits,
                             const ScaleConfig& config) {
  if (!state.known) return hold(state, binding_limit::kUnknownState, "the pool cannot be read");
  Demand demand = demandOf(state, config);
  if (demand.drains > 0) {
    ScaleDecision down = hold(state, binding_limit::kDemand, std::move(demand.why));
    down.direction = "down";
    down.to_drain = demand.drains;
    down.drains_busy = demand.drains_busy;
    down.spare = demand.spare;
    down.level = demand.level;
    down.desired_workers -= demand.drains;
    return down;
  }
  if (config.paused) return hold(state, binding_limit::kPaused, "the pool is paused");
  if (!config.has_template) {
    return hold(state, binding_limit::kNoTemplate,
                "the pool has no template, so nothing can be launched for it");
  }
  if (state.circuit_allows == 0 && state.pending > 0) {
    return hold(state, binding_limit::kCircuit,
                "the circuit is open after too many failures of one kind, and its next probe is "
                "not due yet");
  }
  if (demand.launches == 0) {
    ScaleDecision none = hold(state, demand.limit, std::move(demand.why));
    none.spare = demand.spare;
    none.level = demand.level;
    return none;
  }

  const std::int64_t places =
      config.max_workers - (state.current() + state.terminating + state.maybe_alive);
  const std::pair<std::string_view, std::optional<std::int64_t>> caps[] = {
      {binding_limit::kMaxWorkers, places},
      {binding_limit::kHostSlots, limits.host_slots},
      {binding_limit::kResourcePressure, limits.resource_pressure},
      {binding_limit::kLaunchRate, limits.launch_tokens},
      {binding_limit::kBreaker, limits.breaker}};
  std::int64_t launch = demand.launches;
  std::string_view binding = binding_limit::kDemand;
  for (const auto& [name, cap] : caps) {
    if (!cap || *cap >= launch) continue;
    launch = std::max<std::int64_t>(*cap, 0);
    binding = name;
  }
  ScaleDecision decision = hold(state, binding, {});
  decision.level = demand.level;
  if (launch == 0 && binding == binding_limit::kMaxWorkers && state.in_the_way > 0 &&
      state.terminating == 0 && limits.resource_pressure.value_or(1) > 0) {
    decision.direction = "down";
    decision.to_drain = 1;
    decision.makes_room = true;
    decision.desired_workers -= 1;
    decision.reason = demand.why +
                      ": max_workers is used up, and one idle worker that may not run the pinned "
                      "jobs is to stop";
    return decision;
  }
  decision.needed = demand.launches;
  decision.to_launch = launch;
  decision.desired_workers += launch;
  if (launch > 0) decision.direction = "up";
  decision.reason =
      fmt::format("{}: {} needed, {}", demand.why, count(demand.launches, "worker"),
                  launch == demand.launches ? fmt::format("launching {}", launch)
                                            : fmt::format("{} allows {}", binding, launch));
  return decision;
}

}  // namespace

void ScaleMemory::recallInto(ScaleState& state, Time now) const {
  if (last_scaled_at) state.last_scale_age = now - *last_scaled_at;
  state.level = level;
  if (spare_since && *spare_since <= now - kSpareFor) state.spare_for_a_while = spare_least;
}

void ScaleMemory::note(const ScaleDecision& decision, const ScaleConfig& config, Time now) {
  const bool acted = decision.to_launch > 0 || decision.to_drain > 0;
  if (config.adaptive && (config.loop ? acted : decision.level != level)) last_scaled_at = now;
  if (config.adaptive && !config.loop) level = decision.level;
  if (decision.spare == 0 || acted) {
    spare_since.reset();
    spare_least = 0;
  } else if (!spare_since) {
    spare_since = now;
    spare_least = decision.spare;
  } else {
    spare_least = std::min(spare_least, decision.spare);
  }
}

ScaleDecision decideScale(const ScaleState& state, const ScaleLimits& limits,
                          const ScaleConfig& config) {
  ScaleDecision decision = decideByDemand(state, limits, config);
  if (state.unplaceable > 0) {
    decision.reason += "; " + unplaceableText(state.unplaceable, state.unplaceable_jobs);
  }
  return decision;
}

}  // namespace muster

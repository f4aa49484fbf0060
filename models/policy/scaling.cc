#include "models/policy/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace muster {
namespace {

std::int64_t ceilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

ScaleDecision hold(const ScaleState& state, std::string_view limit, std::string reason) {
  ScaleDecision decision;
  decision.current_workers = decision.desired_workers = state.current();
  decision.binding_limit = limit;
  decision.reason = std::move(reason);
  return decision;
}

// Once-workers without a job to claim would only come and go.
std::int64_t floorOf(std::int64_t wanted, const ScaleState& state, const ScaleConfig& config) {
  return config.loop ? wanted : std::min(wanted, state.launchable() + state.claimed);
}

struct Demand {
  std::int64_t launches;
  std::string why;
};

Demand queueDemand(const ScaleState& state, const ScaleConfig& config) {
  const std::int64_t slots = std::max<std::int64_t>(config.slots, 1);
  const std::int64_t jobs_each = std::max<std::int64_t>(config.jobs_per_worker, 1);
  const std::int64_t coming = state.free_slots + state.starting * slots;
  const std::int64_t unserved = std::max<std::int64_t>(state.launchable() - coming, 0);
  const std::int64_t spare = std::max<std::int64_t>(coming - state.launchable(), 0) / slots;
  const std::int64_t warm = std::max<std::int64_t>(config.warm_idle - spare, 0);
  const std::int64_t need = ceilDivide(unserved, jobs_each) + warm;
  const std::int64_t floor = floorOf(config.min_workers, state, config) - state.current();
  std::string why = fmt::format("{}, {} free, {} starting", count(state.runnable, "runnable job"),
                                count(state.free_slots, "slot"), state.starting);
  if (state.elsewhere > 0) {
    why += fmt::format(", {} not for workers launched here", count(state.elsewhere, "job"));
  }
  if (warm > 0) why += fmt::format(", {} kept warm", config.warm_idle);
  if (floor > need) why += fmt::format(", at least {} wanted", config.min_workers);
  return {std::max({need, floor, std::int64_t{0}}), std::move(why)};
}

Demand targetDemand(const ScaleState& state, const ScaleConfig& config) {
  const std::int64_t target = floorOf(*config.target_workers, state, config);
  return {std::max<std::int64_t>(target - state.current(), 0),
          fmt::format("target is {}, {} there", count(*config.target_workers, "worker"),
                      state.current())};
}

ScaleDecision decideByDemand(const ScaleState& state, const ScaleLimits& limits,
                             const ScaleConfig& config) {
  if (!state.known) return hold(state, binding_limit::kUnknownState, "the pool cannot be read");
  const bool targeted = config.target_workers.has_value();
  const std::int64_t surplus =
      targeted ? std::max<std::int64_t>(state.busy + state.idle - *config.target_workers, 0) : 0;
  if (surplus > 0) {
    auto down =
        hold(state, binding_limit::kDemand,
             fmt::format("target is {}, {} there: {} to stop",
                         count(*config.target_workers, "worker"), state.current(), surplus));
    down.direction = "down";
    down.to_drain = surplus;
    down.desired_workers = state.current() - surplus;
    return down;
  }
  if (config.paused) return hold(state, binding_limit::kPaused, "the pool is paused");
  if (!config.has_template) {
    return hold(state, binding_limit::kNoTemplate,
                "the pool has no template, so nothing can be launched for it");
  }
  const Demand demand = targeted ? targetDemand(state, config) : queueDemand(state, config);
  if (demand.launches == 0) {
    return hold(state, binding_limit::kNoDemand, demand.why + ": nobody is needed");
  }

  const std::int64_t places =
      config.max_workers - (state.current() + state.terminating + state.maybe_alive);
  const std::pair<std::string_view, std::optional<std::int64_t>> caps[] = {
      {binding_limit::kMaxWorkers, places},
      {binding_limit::kHostSlots, limits.host_slots},
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

ScaleDecision decideScale(const ScaleState& state, const ScaleLimits& limits,
                          const ScaleConfig& config) {
  ScaleDecision decision = decideByDemand(state, limits, config);
  if (state.unplaceable > 0) {
    decision.reason += "; " + unplaceableText(state.unplaceable, state.unplaceable_jobs);
  }
  return decision;
}

}  // namespace muster

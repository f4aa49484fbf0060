#include "models/policy/adaptive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {
namespace {

constexpr double kLowDepth = 0.3, kLowLatency = 0.5, kLowUtilization = 0.7;

std::string joined(const std::vector<std::string>& reasons) {
  return fmt::format("{}", fmt::join(reasons, "; "));
}

// How many times a target something is; a target of 0 has no multiples.
std::string multiple(double value, double target) {
  return target > 0 ? fmt::format(" ({:.1f}x)", value / target) : "";
}

double utilization(const AdaptiveState& state) {
  if (state.current_workers <= 0) return 0;
  return static_cast<double>(state.in_flight_jobs) / static_cast<double>(state.current_workers);
}

std::vector<std::string> upReasons(const AdaptiveState& s, const AdaptiveConfig& c) {
  std::vector<std::string> reasons;
  if (s.queue_depth > c.target_queue_depth) {
    reasons.push_back(fmt::format(
        "queue depth {} > {}{}", s.queue_depth, c.target_queue_depth,
        multiple(static_cast<double>(s.queue_depth), static_cast<double>(c.target_queue_depth))));
  }
  if (s.p95_latency_ms > c.target_p95_latency_ms) {
    reasons.push_back(fmt::format("P95 latency {:.1f}ms > {}ms{}", s.p95_latency_ms,
                                  c.target_p95_latency_ms,
                                  multiple(s.p95_latency_ms, c.target_p95_latency_ms)));
  }
  if (s.in_flight_jobs >= s.current_workers && s.queue_depth > 0) {
    reasons.push_back(s.current_workers == 0 ? fmt::format("no workers, {} queued", s.queue_depth)
                                             : fmt::format("all {} workers busy, {} queued",
                                                           s.current_workers, s.queue_depth));
  }
  return reasons;
}

std::vector<std::string> downBlockers(const AdaptiveState& s, const AdaptiveConfig& c) {
  std::vector<std::string> blockers;
  const double depth = kLowDepth * static_cast<double>(c.target_queue_depth);
  if (static_cast<double>(s.queue_depth) > depth) {
    blockers.push_back(fmt::format("queue depth {} > {:.1f}", s.queue_depth, depth));
  }
  const double latency = kLowLatency * c.target_p95_latency_ms;
  if (s.p95_latency_ms > latency) {
    blockers.push_back(fmt::format("P95 latency {:.1f}ms > {:.1f}ms", s.p95_latency_ms, latency));
  }
  if (utilization(s) > kLowUtilization) {
    blockers.push_back(fmt::format("utilization {:.1f}% > 70%", utilization(s) * 100));
  }
  return blockers;
}

std::string figures(const AdaptiveState& s) {
  return fmt::format("stable: queue depth {}, P95 latency {:.1f}ms, utilization {:.1f}%",
                     s.queue_depth, s.p95_latency_ms, utilization(s) * 100);
}

double inSeconds(Millis time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::optional<AdaptiveConfig> findPreset(std::string_view name) {
  static const std::pair<std::string_view, AdaptiveConfig> kPresets[] = {
      {"low-latency", {4, 24, 500, 10, 3, 1, Millis(1500)}},
      {"high-throughput", {8, 48, 5000, 200, 4, 2, Millis(1500)}},
      {"balanced", {1, 12, 2000, 50, 2, 1, Millis(1500)}},
      {"cost-optimized", {1, 6, 8000, 100, 1, 1, Millis(3000)}}};
  for (const auto& [known, preset] : kPresets) {
    if (known == name) return preset;
  }
  return std::nullopt;
}

AdaptiveDecision decideAdaptive(const AdaptiveState& state, const AdaptiveConfig& config) {
  const std::int64_t current = state.current_workers;
  AdaptiveDecision decision;
  decision.desired_workers = current;
  decision.up_reasons = upReasons(state, config);
  decision.down_blockers = downBlockers(state, config);
  if (state.last_scale_age) {
    decision.clock_skew = std::max(-*state.last_scale_age, Millis(0));
    const Millis age = std::max(*state.last_scale_age, Millis(0));
    decision.cooldown_left = std::max(config.interval - age, Millis(0));
  }
  const auto move = [&](std::int64_t to, std::string reason) {
    decision.direction = to > current ? "up" : to < current ? "down" : "hold";
    decision.desired_workers = to;
    decision.reason = std::move(reason);
    return decision;
  };
  const std::int64_t higher = decision.up_reasons.empty()
                                  ? current
                                  : std::min(current + config.scale_up_step, config.max_workers);
  if (current > config.max_workers) {
    return move(config.max_workers,
                fmt::format("above max_workers ({} > {})", current, config.max_workers));
  }
  if (current < config.min_workers) {
    std::vector<std::string> reasons = decision.up_reasons;
    reasons.insert(reasons.begin(),
                   fmt::format("below min_workers ({} < {})", current, config.min_workers));
    return move(std::max(config.min_workers, higher), joined(reasons));
  }
  if (decision.cooldown_left > Millis(0)) {
    const Millis age = config.interval - decision.cooldown_left;
    return move(current, fmt::format("Cooldown active ({:.1f}s < {:.1f}s)", inSeconds(age),
                                     inSeconds(config.interval)));
  }
  if (!decision.up_reasons.empty()) {
    if (current >= config.max_workers) {
      return move(current, "at max_workers; " + joined(decision.up_reasons));
    }
    if (config.scale_up_step == 0) {
      return move(current, "scale_up_step is 0; " + joined(decision.up_reasons));
    }
    return move(higher, joined(decision.up_reasons));
  }
  if (decision.down_blockers.empty() && current > config.min_workers) {
    if (config.scale_down_step == 0) return move(current, "scale_down_step is 0");
    return move(std::max(current - config.scale_down_step, config.min_workers),
                fmt::format("low load: utilization {:.1f}% <= 70%", utilization(state) * 100));
  }
  return move(current, figures(state));
}

}  // namespace muster

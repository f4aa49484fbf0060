#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/time.h"

namespace muster {

struct AdaptiveConfig {
  std::int64_t min_workers = 1;
  std::int64_t max_workers = 12;
  double target_p95_latency_ms = 2000;
  std::int64_t target_queue_depth = 50;
  std::int64_t scale_up_step = 2;
  std::int64_t scale_down_step = 1;
  Millis interval{1500};  // between two actions
  bool operator==(const AdaptiveConfig&) const = default;
};

// low-latency, high-throughput, balanced or cost-optimized.
std::optional<AdaptiveConfig> findPreset(std::string_view name);

// What adaptive scaling goes by.
struct AdaptiveState {
  std::int64_t current_workers = 0;
  std::int64_t queue_depth = 0;
  double p95_latency_ms = 0;
  std::int64_t in_flight_jobs = 0;
  std::optional<Millis> last_scale_age;  // absent: it never scaled; negative: a clock is wrong
};

struct AdaptiveDecision {
  std::string direction = "hold";  // up, down or hold
  std::int64_t desired_workers = 0;
  std::string reason;
  std::vector<std::string> up_reasons;     // why there should be more
  std::vector<std::string> down_blockers;  // why there should not be fewer
  Millis cooldown_left{0};                 // 0: none is active
  Millis clock_skew{0};                    // by which the age was negative
};

// How many workers there should be: bounds first, then the cooldown, then up if anything asks for
// it, and down if nothing speaks against it. Equality with a target never scales up.
AdaptiveDecision decideAdaptive(const AdaptiveState& state, const AdaptiveConfig& config);

}  // namespace muster

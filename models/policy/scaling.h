#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/policy/adaptive.h"
#include "models/policy/unplaceable.h"
#include "models/time.h"

namespace muster {

// What is true of a pool at one moment.
struct ScaleState {
  bool known = true;             // false: it could not be read, so nothing is launched
  std::int64_t runnable = 0;     // jobs some worker could claim now
  std::int64_t elsewhere = 0;    // of them, those that no worker launched here could claim
  std::int64_t unplaceable = 0;  // jobs nobody there or to be launched could run
  std::vector<UnplaceableJobs> unplaceable_jobs;  // the largest groups of them, in that order
  std::int64_t pending = 0;
  std::int64_t claimed = 0;
  std::int64_t free_slots = 0;   // F: on active workers with a fresh heartbeat
  std::int64_t starting = 0;     // L: within their deadline
  std::int64_t busy = 0;         // B
  std::int64_t idle = 0;         // I
  std::int64_t terminating = 0;  // T
  std::int64_t maybe_alive = 0;  // Z: silent, but not proven dead
  std::int64_t drainable = 0;    // of the idle, those that were launched and may be asked to stop
  // Of those, while jobs are pinned to this host, the ones that may run none of the jobs which ask
  // for a launch.
  std::int64_t in_the_way = 0;
  // The fewest workers to spare in the last while; absent: not watched for long enough.
  std::optional<std::int64_t> spare_for_a_while;
  // What adaptive mode looks at besides.
  double p95_latency_ms = 0;
  std::optional<Millis> last_scale_age;
  std::int64_t level = 0;  // how many once-workers it last wanted at a time
  // Floors that depend on the time; 0: none.
  std::int64_t scheduled_floor = 0;
  std::int64_t predicted_floor = 0;
  // By the pool's circuit breaker; absent: it is closed.
  std::optional<std::int64_t> circuit_allows;

  // R: jobs that are worth a launch.
  std::int64_t launchable() const { return runnable - elsewhere; }
  // Workers that serve or will serve.
  std::int64_t current() const { return busy + idle + starting; }
};

// What may hold launches back; absent: nothing does.
struct ScaleLimits {
  std::optional<std::int64_t> host_slots;
  std::optional<std::int64_t> launch_tokens;
  std::optional<std::int64_t> breaker;
  // 0 while resources take more of the disk of this host than they may.
  std::optional<std::int64_t> resource_pressure = {};
};

struct ScaleConfig {
  bool paused = false;
  bool has_template = true;
  bool loop = false;  // workers take job after job; else each takes one
  std::int64_t min_workers = 0;
  std::int64_t max_workers = 10;
  std::int64_t warm_idle = 0;
  std::int64_t slots = 1;                      // k: jobs a worker runs at a time
  std::int64_t jobs_per_worker = 1;            // q: jobs one new worker should take
  std::optional<std::int64_t> target_workers;  // set: the number of workers is given
  std::optional<AdaptiveConfig> adaptive;      // set: the number follows depth and latency
};

namespace binding_limit {
constexpr std::string_view kDemand = "demand";  // no limit bound
constexpr std::string_view kNoDemand = "no_demand";
constexpr std::string_view kMaxWorkers = "max_workers";
constexpr std::string_view kHostSlots = "host_slots";
constexpr std::string_view kResourcePressure = "resource_pressure";
constexpr std::string_view kLaunchRate = "launch_rate";
constexpr std::string_view kBreaker = "breaker";
constexpr std::string_view kCooldown = "cooldown";
constexpr std::string_view kCircuit = "circuit";
constexpr std::string_view kPaused = "paused";
constexpr std::string_view kNoTemplate = "no_template";
constexpr std::string_view kUnknownState = "unknown_state";
}  // namespace binding_limit

struct ScaleDecision {
  std::string direction = "hold";  // up, down or hold
  std::int64_t current_workers = 0;
  std::int64_t desired_workers = 0;
  std::int64_t needed = 0;  // launches without limits
  std::int64_t to_launch = 0;
  std::int64_t to_drain = 0;  // workers to be asked to stop
  bool drains_busy = false;   // not only idle ones
  bool makes_room = false;    // one that may not run a pinned job, for one that may
  std::int64_t spare = 0;     // workers that nothing asks for now
  std::int64_t level = 0;     // in adaptive mode: how many once-workers there should be at a time
  std::string_view binding_limit = binding_limit::kNoDemand;
  std::string reason;  // one sentence
};

// How many workers to launch for the work there is. A worker that is on its way counts for the
// jobs it will take, a busy one does not, and nothing that may still be alive gives up its place.
// The reason also tells of jobs that cannot be placed.
ScaleDecision decideScale(const ScaleState& state, const ScaleLimits& limits,
                          const ScaleConfig& config);

// What one check has to know of those before it.
struct ScaleMemory {
  std::optional<Time> last_scaled_at;  // in adaptive mode: the cooldown runs from here
  std::int64_t level = 0;
  // Since then at least so many workers were to spare, at every check.
  std::optional<Time> spare_since;
  std::int64_t spare_least = 0;
  bool operator==(const ScaleMemory&) const = default;

  void recallInto(ScaleState& state, Time now) const;
  // A decision that is carried out. An action is a launch or a request to stop; for once-workers,
  // which end with each job, a change of how many there should be at a time.
  void note(const ScaleDecision& decision, const ScaleConfig& config, Time now);
};

}  // namespace muster

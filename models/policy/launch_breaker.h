#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/time.h"

namespace muster {

// How the launches of one template version in a pool have gone.
struct LaunchRecord {
  std::int64_t failures = 0;     // in a row
  std::int64_t successes = 0;    // counted until they are enough
  std::optional<Time> retry_at;  // no launch before that
  bool suspended = false;
  bool operator==(const LaunchRecord&) const = default;
};

struct LaunchRules {
  Millis backoff_base{1'000};
  Millis backoff_cap{300'000};
  std::int64_t suspend_after = 10;
};

// How many launches may begin now; absent: no bound. `starting` are on their way, `unjudged` have
// not shown yet whether they will do.
std::optional<std::int64_t> launchAllowance(const LaunchRecord& record, std::int64_t starting,
                                            std::int64_t unjudged, Time now);

// One more launch failed or did well. `dice` in [0, 1) chooses within ± 20 % of the delay.
LaunchRecord afterFailure(LaunchRecord record, const LaunchRules& rules, double dice, Time now);
LaunchRecord afterSuccess(LaunchRecord record);

// "ok", "backing_off" or "suspended".
std::string_view launchState(const LaunchRecord& record);

}  // namespace muster

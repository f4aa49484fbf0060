#include "models/policy/launch_breaker.h"

#include <algorithm>
#include <cmath>

namespace muster {
namespace {

constexpr Millis kProbeWhileSuspended = std::chrono::minutes(15);
constexpr double kLaunchJitter = 0.2;
constexpr std::int64_t kProvenAfter = 10;  // the bound has doubled beyond every launch rate

}  // namespace

std::optional<std::int64_t> launchAllowance(const LaunchRecord& record, std::int64_t starting,
                                            std::int64_t unjudged, Time now) {
  if (record.failures > 0 || record.suspended) {
    if (record.retry_at && now < *record.retry_at) return 0;
    return std::max<std::int64_t>(1 - unjudged, 0);  // one probe at a time
  }
  if (record.successes >= kProvenAfter) return std::nullopt;
  return std::max<std::int64_t>((std::int64_t{2} << record.successes) - starting, 0);
}

LaunchRecord afterFailure(LaunchRecord record, const LaunchRules& rules, double dice, Time now) {
  record.failures += 1;
  const double exponent = static_cast<double>(std::min<std::int64_t>(record.failures - 1, 40));
  const double delay =
      std::min(static_cast<double>(rules.backoff_cap.count()),
               static_cast<double>(rules.backoff_base.count()) * std::pow(2.0, exponent)) *
      (1 - kLaunchJitter + 2 * kLaunchJitter * dice);
  record.retry_at = now + Millis(static_cast<std::int64_t>(delay));
  if (record.failures >= rules.suspend_after) {
    record.suspended = true;
    record.retry_at = now + kProbeWhileSuspended;
  }
  return record;
}

LaunchRecord afterSuccess(LaunchRecord record) {
  return {0, std::min(record.successes + 1, kProvenAfter), std::nullopt, false};
}

std::string_view launchState(const LaunchRecord& record) {
  if (record.suspended) return "suspended";
  return record.failures > 0 ? "backing_off" : "ok";
}

}  // namespace muster

#include "models/policy/retry.h"

#include <algorithm>
#include <cmath>

namespace muster {

Millis retryDelay(const RetryPolicy& policy, int attempt, double dice) {
  const double base = static_cast<double>(policy.base.count());
  const double cap = static_cast<double>(policy.cap.count());
  const double grown = std::min(base * std::exp2(std::clamp(attempt, 1, 63) - 1), cap);
  const double spread = 1.0 + policy.jitter * (2.0 * dice - 1.0);
  return Millis(std::llround(grown * std::max(spread, 0.0)));
}

RetryVerdict judgeFailure(int attempts, int max_retries, bool cancel_requested,
                          const FailureReport& report, const RetryPolicy& policy, double dice,
                          Time now) {
  if (cancel_requested || report.cancelled) return {JobStatus::kCancelled, attempts, now};
  if (!report.retryable) return {JobStatus::kPoisoned, attempts, now};
  if (report.no_penalty) {
    const Millis wait = report.retry_after.value_or(retryDelay(policy, attempts, dice));
    return {JobStatus::kPending, std::max(attempts - 1, 0), now + wait};
  }
  if (attempts >= max_retries) return {JobStatus::kPoisoned, attempts, now};
  const Millis wait = report.retry_after.value_or(retryDelay(policy, attempts, dice));
  return {JobStatus::kPending, attempts, now + wait};
}

}  // namespace muster

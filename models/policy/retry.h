#pragma once

#include "models/job.h"
#include "models/time.h"

namespace muster {

struct RetryPolicy {
  Millis base{400};
  double jitter = 0.2;  // ± this share
  Millis cap{60'000};
};

// min(base · 2^(attempt−1), cap) × (1 ± jitter); `dice` in [0, 1) chooses within the jitter.
Millis retryDelay(const RetryPolicy& policy, int attempt, double dice);

// What becomes of a claimed job whose try did not succeed.
struct RetryVerdict {
  JobStatus status;  // kPending, kPoisoned or kCancelled
  int attempts;      // after the try, given back when it is not to count
  Time available_at;
};

// `attempts` counts the failed try already; max_retries N means N tries in all.
RetryVerdict judgeFailure(int attempts, int max_retries, bool cancel_requested,
                          const FailureReport& report, const RetryPolicy& policy, double dice,
                          Time now);

}  // namespace muster

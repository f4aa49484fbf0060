#include "app/worker/retry_pause.h"

#include <algorithm>

#include "models/policy/retry.h"

namespace muster {

Millis retryPause(int failures, std::optional<Seconds> retry_after, double dice) {
  constexpr RetryPolicy kPolicy{.base = Millis(100), .jitter = 0.25, .cap = Seconds(5)};
  const Millis own = retryDelay(kPolicy, failures, dice);
  return std::max(own, Millis(retry_after.value_or(Seconds(0))));
}

}  // namespace muster

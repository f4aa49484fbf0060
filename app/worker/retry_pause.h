#pragma once

#include <optional>

#include "models/time.h"

namespace muster {

// How long to wait before asking again after `failures` answers (1 or more) that were none: growing
// to five seconds, spread by `dice` in [0, 1), and never less than the service asked for.
Millis retryPause(int failures, std::optional<Seconds> retry_after, double dice);

}  // namespace muster

#pragma once

#include <functional>
#include <string>

#include "app/waits/wait_list.h"
#include "models/time.h"

namespace muster {

// Calls `again` once on the current event loop: when `key` is woken, or after `at_most`. The
// generation was taken before the look that found nothing (see WaitList).
void waitOnLoop(WaitList& waits, const std::string& key, std::uint64_t generation, Millis at_most,
                std::function<void()> again);

}  // namespace muster

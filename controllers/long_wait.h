#pragma once

#include <functional>
#include <string>

#include "app/waits/wait_list.h"
#include "controllers/gateway.h"
#include "models/clock.h"
#include "models/time.h"

namespace muster {

// Calls `again` once on the current event loop: when `key` is woken, or after `at_most`. The
// generation was taken before the look that found nothing (see WaitList).
void waitOnLoop(WaitList& waits, const std::string& key, std::uint64_t generation, Millis at_most,
                std::function<void()> again);

// What a read that waits is made with: whose requests, woken by what, until when.
struct LongRead {
  Gateway& gateway;
  WaitList& waits;
  const Clock& clock;
  std::string key;  // that is woken when there may be something else to see
  Time deadline;
};
// One look; says whether there is nothing to wait for any more.
using Look = std::function<Outcome(Store&, bool& ended)>;

// Reads until there is nothing to wait for, the time is over, the client has gone or the service
// stops. Responds with what it saw last.
void readUntilEnded(const LongRead& read, const RequestPtr& request, const Look& look,
                    Respond respond);

}  // namespace muster

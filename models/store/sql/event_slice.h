#pragma once

#include <cstdint>
#include <vector>

#include "models/event.h"
#include "models/store/store.h"

namespace muster {

// What a reader with a cursor finds next.
struct EventSlice {
  std::vector<Event> events;
  std::int64_t read_to = 0;  // the cursor behind them
  std::int64_t expired = 0;  // numbers in between that retention has removed
  bool more = false;
};

// All events behind `after`, as far as they are kept, oldest first.
EventSlice sliceAfter(Store& store, std::int64_t after, int limit);

}  // namespace muster

#pragma once

#include "models/clock.h"

namespace muster {

// The one place that reads the machine's clocks.
class SystemClock : public Clock {
 public:
  Time now() const override { return std::chrono::floor<Millis>(std::chrono::system_clock::now()); }
  std::chrono::nanoseconds monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

}  // namespace muster

#pragma once

#include <atomic>

#include "models/time.h"

namespace muster {

// Where "now" comes from. Only SystemClock reads the machine's clock; tests use FakeClock.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  // Never steps back; only differences mean something.
  virtual std::chrono::nanoseconds monotonic() const = 0;
};

// A clock that stands still until it is told to move. Thread-safe.
class FakeClock : public Clock {
 public:
  explicit FakeClock(Time start = fromMillis(1'700'000'000'000)) : millis_(toMillis(start)) {}
  Time now() const override { return fromMillis(millis_.load()); }
  std::chrono::nanoseconds monotonic() const override { return Millis(millis_.load()); }
  void advance(Millis by) { millis_ += by.count(); }

 private:
  std::atomic<std::int64_t> millis_;
};

}  // namespace muster

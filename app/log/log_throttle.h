#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "models/clock.h"
#include "models/policy/token_bucket.h"

namespace muster {

// Lets a few lines a second into the log, where others decide how many there are. Thread-safe.
class LogThrottle {
 public:
  LogThrottle(const Clock& clock, double lines_a_second) : clock_(clock), bucket_(lines_a_second) {}

  // Whether the line is to be written: then how many before it were not.
  std::optional<std::uint64_t> pass() {
    const std::lock_guard lock(mutex_);
    if (bucket_.take(clock_.monotonic())) {
      ++left_out_;
      return std::nullopt;
    }
    return std::exchange(left_out_, 0);
  }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  TokenBucket bucket_;          // guarded by mutex_
  std::uint64_t left_out_ = 0;  // guarded by mutex_
};

}  // namespace muster

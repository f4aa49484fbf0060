#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

namespace muster {

// Lets `rate` things pass a second, and in a burst twice that (but at least one). A rate of 0 lets
// everything pass.
class TokenBucket {
 public:
  using Instant = std::chrono::nanoseconds;  // of a monotonic clock
  explicit TokenBucket(double rate)
      : rate_(rate), burst_(std::max(2 * rate, 1.0)), tokens_(burst_) {}

  // Takes `count` tokens and gives nothing, or takes none and says how long to wait for them. More
  // than the burst at once passes when the bucket is full, and is paid for afterwards.
  std::optional<std::chrono::seconds> take(Instant now, double count = 1) {
    const auto missing = wait(now, count);
    if (!missing && rate_ > 0) tokens_ -= count;
    return missing;
  }

  // The same without taking any.
  std::optional<std::chrono::seconds> wait(Instant now, double count = 1) {
    if (rate_ <= 0) return std::nullopt;
    if (last_ && now > *last_) {
      const double passed = std::chrono::duration<double>(now - *last_).count();
      tokens_ = std::min(burst_, tokens_ + passed * rate_);
    }
    last_ = now;
    const double needed = std::min(count, burst_);
    if (tokens_ >= needed) return std::nullopt;
    return secondsFor(needed - tokens_);
  }

  // What whoever asks may know: how much passes at once when the bucket is full, what is left of
  // it, and when it is full again.
  struct Level {
    std::int64_t limit;
    std::int64_t remaining;
    std::chrono::seconds full_in;
  };
  // As it was when it was last asked. Its rate is not 0.
  Level level() const {
    return {static_cast<std::int64_t>(burst_), static_cast<std::int64_t>(std::max(tokens_, 0.0)),
            secondsFor(burst_ - tokens_)};
  }

  bool isFull(Instant now) const {
    if (!last_) return true;
    return tokens_ + std::chrono::duration<double>(now - *last_).count() * rate_ >= burst_;
  }

 private:
  std::chrono::seconds secondsFor(double tokens) const {
    return std::chrono::seconds(static_cast<std::int64_t>(std::ceil(tokens / rate_)));
  }

  double rate_;
  double burst_;
  double tokens_;
  std::optional<Instant> last_;
};

}  // namespace muster

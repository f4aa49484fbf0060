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
    if (rate_ <= 0) return std::nullopt;
    if (last_ && now > *last_) {
      const double passed = std::chrono::duration<double>(now - *last_).count();
      tokens_ = std::min(burst_, tokens_ + passed * rate_);
    }
    last_ = now;
    const double needed = std::min(count, burst_);
    if (tokens_ >= needed) {
      tokens_ -= count;
      return std::nullopt;
    }
    return std::chrono::seconds(static_cast<std::int64_t>(std::ceil((needed - tokens_) / rate_)));
  }

  bool isFull(Instant now) const {
    if (!last_) return true;
    return tokens_ + std::chrono::duration<double>(now - *last_).count() * rate_ >= burst_;
  }

 private:
  double rate_;
  double burst_;
  double tokens_;
  std::optional<Instant> last_;
};

}  // namespace muster

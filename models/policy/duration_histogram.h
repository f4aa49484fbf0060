#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "models/time.h"

namespace muster {

// Counts durations so that quantiles can be told without keeping them: exact below 128 ms, and
// within 1 % above. The size is fixed, whatever is counted.
class DurationHistogram {
 public:
  void add(Millis duration);
  void add(const DurationHistogram& other);
  // Takes back what was added before.
  void subtract(const DurationHistogram& other);

  std::int64_t count() const { return count_; }
  // The nearest rank: the smallest duration that at least this share of all do not exceed. 0
  // when there are none.
  Millis quantile(double share) const;

 private:
  static constexpr int kExactBits = 7;                  // durations of so many bits are told apart
  static constexpr int kSteps = 1 << (kExactBits - 1);  // between one power of two and the next
  static constexpr int kMostBits = 42;                  // 139 years; what is longer counts as that
  static constexpr std::size_t kBuckets =
      (1 << kExactBits) + static_cast<std::size_t>(kMostBits - kExactBits) * kSteps;
  static std::size_t bucketOf(Millis duration);
  static Millis middleOf(std::size_t bucket);

  std::array<std::int64_t, kBuckets> counts_{};
  std::int64_t count_ = 0;
  std::size_t highest_ = 0;  // no bucket above holds anything
};

}  // namespace muster

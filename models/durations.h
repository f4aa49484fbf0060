#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/time.h"

namespace muster {

// How long things took: a histogram that is exact below 128 ms, and above it has 64 classes to each
// doubling, so that what it tells is at most 1 % off. Two of them merge into what one would hold
// that had seen both.
class Durations {
 public:
  void add(Millis took, std::int64_t count = 1);
  void merge(const Durations& other);
  void subtract(const Durations& other);  // which was merged, or added one by one, before

  std::int64_t count() const { return count_; }
  // The smallest duration that at least this share of them (0 to 1) do not exceed; 0 ms of none.
  double percentileMs(double share) const;
  Millis percentile(double share) const { return Millis(std::llround(percentileMs(share))); }

  // class:count,class:count with rising classes; "" of none. What is not so written is left out.
  std::string encode() const;
  static Durations decode(std::string_view text);

  bool operator==(const Durations&) const = default;

 private:
  void addToClass(std::size_t number, std::int64_t count);

  std::vector<std::int64_t> counts_;  // by class, as far as there are any
  std::int64_t count_ = 0;
};

}  // namespace muster

#include "models/policy/duration_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace muster {

std::size_t DurationHistogram::bucketOf(Millis duration) {
  constexpr auto kLongest = (std::uint64_t{1} << kMostBits) - 1;
  const auto value =
      std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)), kLongest);
  const int shift = static_cast<int>(std::bit_width(value)) - kExactBits;
  if (shift <= 0) return value;
  return static_cast<std::size_t>(shift) * kSteps + (value >> shift);
}

Millis DurationHistogram::middleOf(std::size_t bucket) {
  if (bucket < (std::size_t{1} << kExactBits)) return Millis(bucket);
  const std::size_t shift = bucket / kSteps - 1;
  const std::size_t from = (bucket - shift * kSteps) << shift;
  return Millis(from + (std::size_t{1} << shift) / 2);
}

void DurationHistogram::add(Millis duration) {
  const std::size_t bucket = bucketOf(duration);
  ++counts_[bucket];
  ++count_;
  highest_ = std::max(highest_, bucket);
}

void DurationHistogram::add(const DurationHistogram& other) {
  for (std::size_t i = 0; i <= other.highest_; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  highest_ = std::max(highest_, other.highest_);
}

void DurationHistogram::subtract(const DurationHistogram& other) {
  for (std::size_t i = 0; i <= other.highest_; ++i) counts_[i] -= other.counts_[i];
  count_ -= other.count_;
  while (highest_ > 0 && counts_[highest_] == 0) --highest_;
}

// From above: the quantiles that are asked for often are high.
Millis DurationHistogram::quantile(double share) const {
  if (count_ == 0) return Millis(0);
  const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_)));
  std::int64_t above = count_ - std::clamp<std::int64_t>(rank, 1, count_);
  std::size_t bucket = highest_;
  for (; bucket > 0 && above >= counts_[bucket]; --bucket) above -= counts_[bucket];
  return middleOf(bucket);
}

}  // namespace muster

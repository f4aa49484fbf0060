#include "models/durations.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace muster {
namespace {

constexpr int kPrecision = 6;  // bits behind the leading one
constexpr std::uint64_t kPerDoubling = 1U << kPrecision;
constexpr std::uint64_t kExact = 2 * kPerDoubling;
constexpr std::int64_t kLongest = (std::int64_t{1} << 40) - 1;  // ms; more than thirty years

std::size_t classOf(Millis took) {
  const auto ms = static_cast<std::uint64_t>(std::clamp<std::int64_t>(took.count(), 0, kLongest));
  if (ms < kExact) return ms;
  const int shift = 63 - std::countl_zero(ms) - kPrecision;
  return static_cast<std::size_t>(shift) * kPerDoubling + (ms >> shift);
}

const std::size_t kClasses = classOf(Millis(kLongest)) + 1;

// The middle of the class.
double middleMs(std::size_t number) {
  if (number < kExact) return static_cast<double>(number);
  const std::size_t shift = number / kPerDoubling - 1;
  const std::uint64_t first = (number - shift * kPerDoubling) << shift;
  const std::uint64_t width = std::uint64_t{1} << shift;
  return static_cast<double>(first) + static_cast<double>(width - 1) / 2;
}

}  // namespace

void Durations::addToClass(std::size_t number, std::int64_t count) {
  if (counts_.size() <= number) counts_.resize(number + 1);
  counts_[number] += count;
  count_ += count;
}

void Durations::add(Millis took, std::int64_t count) { addToClass(classOf(took), count); }

void Durations::merge(const Durations& other) {
  for (std::size_t number = 0; number < other.counts_.size(); ++number) {
    if (other.counts_[number] > 0) addToClass(number, other.counts_[number]);
  }
}

void Durations::subtract(const Durations& other) {
  for (std::size_t number = 0; number < other.counts_.size(); ++number) {
    if (other.counts_[number] > 0) addToClass(number, -other.counts_[number]);
  }
}

double Durations::percentileMs(double share) const {
  if (count_ == 0) return 0;
  const auto rank = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_))), 1, count_);
  std::int64_t seen = 0;
  std::size_t number = 0;
  while ((seen += counts_[number]) < rank) ++number;
  return middleMs(number);
}

std::string Durations::encode() const {
  std::string text;
  for (std::size_t number = 0; number < counts_.size(); ++number) {
    if (counts_[number] == 0) continue;
    fmt::format_to(std::back_inserter(text), "{}{}:{}", text.empty() ? "" : ",", number,
                   counts_[number]);
  }
  return text;
}

Durations Durations::decode(std::string_view text) {
  Durations durations;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const char* const end = entry.data() + entry.size();
    std::size_t number = 0;
    std::int64_t count = 0;
    const auto colon = std::from_chars(entry.data(), end, number);
    if (colon.ec != std::errc() || colon.ptr == end || *colon.ptr != ':') continue;
    const auto last = std::from_chars(colon.ptr + 1, end, count);
    if (last.ec != std::errc() || last.ptr != end) continue;
    if (number < kClasses && count > 0) durations.addToClass(number, count);
  }
  return durations;
}

}  // namespace muster

#include "app/cli/relative_time.h"

#include <fmt/format.h>

namespace muster {
namespace {

std::string twoUnits(std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
  return small == 0 ? fmt::format("{}{}", large, large_unit)
                    : fmt::format("{}{} {}{}", large, large_unit, small, small_unit);
}

}  // namespace

std::string durationText(Millis duration) {
  if (duration < Seconds(1)) return fmt::format("{}ms", duration.count());
  const std::int64_t seconds = std::chrono::floor<Seconds>(duration).count();
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return twoUnits(seconds / 60, 'm', seconds % 60, 's');
  if (seconds < 86400) return twoUnits(seconds / 3600, 'h', seconds % 3600 / 60, 'm');
  return twoUnits(seconds / 86400, 'd', seconds % 86400 / 3600, 'h');
}

std::string relativeTime(Time time, Time now) {
  const Millis distance = time - now;
  if (distance >= Seconds(1)) return "in " + durationText(distance);
  if (distance <= -Seconds(1)) return durationText(-distance) + " ago";
  return "now";
}

}  // namespace muster

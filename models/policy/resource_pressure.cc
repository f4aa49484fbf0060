#include "models/policy/resource_pressure.h"

#include <algorithm>

namespace muster {
namespace {

// Without overflow, however large the limit is.
std::int64_t partOf(std::int64_t limit, int pct) {
  return limit / 100 * pct + limit % 100 * pct / 100;
}

}  // namespace

bool isOverLimit(const ResourceUse& use, const ResourceLimits& limits) {
  return use.disk_bytes.value_or(0) > limits.disk_bytes ||
         use.mem_bytes.value_or(0) > limits.mem_bytes;
}

bool isAboveHighWatermark(std::int64_t in_use, std::int64_t limit, const Watermarks& marks) {
  return in_use > partOf(limit, marks.high_pct);
}

std::int64_t bytesToFree(std::int64_t in_use, std::int64_t leaving, std::int64_t limit,
                         const Watermarks& marks) {
  const std::int64_t stays = in_use - std::min(leaving, in_use);
  if (!isAboveHighWatermark(stays, limit, marks)) return 0;
  return stays - partOf(limit, marks.low_pct);
}

std::size_t countToEvict(std::span<const std::optional<std::int64_t>> sizes, std::int64_t bytes) {
  std::size_t count = 0;
  while (count < sizes.size() && bytes > 0) {
    const auto& size = sizes[count++];
    if (!size) break;
    bytes -= *size;
  }
  return count;
}

}  // namespace muster

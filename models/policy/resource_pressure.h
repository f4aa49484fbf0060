#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace muster {

// What a worker says that its resources take.
struct ResourceUse {
  std::optional<std::int64_t> disk_bytes, mem_bytes;
  bool operator==(const ResourceUse&) const = default;
};

// How much the resources of one worker may take.
struct ResourceLimits {
  std::int64_t disk_bytes = 21'474'836'480;
  std::int64_t mem_bytes = 8'589'934'592;
};

// It gets no jobs but those that must run on it, and its free slots do not count.
bool isOverLimit(const ResourceUse& use, const ResourceLimits& limits);

struct Watermarks {
  int high_pct = 90;
  int low_pct = 80;
};

bool isAboveHighWatermark(std::int64_t in_use, std::int64_t limit, const Watermarks& marks);

// Above the high watermark of the limit: what must go to come down to the low one. What is
// `leaving` already counts as gone.
std::int64_t bytesToFree(std::int64_t in_use, std::int64_t leaving, std::int64_t limit,
                         const Watermarks& marks);

// How many of the idle ones go, first of all those that come first, to free so many bytes. What
// has no known size may be as large as all the rest: it goes alone, and the next report tells what
// that brought.
std::size_t countToEvict(std::span<const std::optional<std::int64_t>> sizes, std::int64_t bytes);

}  // namespace muster

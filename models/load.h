#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/durations.h"
#include "models/time.h"

namespace muster {

// The record of load is kept in steps of this length, which begin at whole multiples of it.
constexpr Millis kLoadStep = Seconds(10);
inline Time loadStepOf(Time at) {
  return std::chrono::floor<std::chrono::duration<std::int64_t, std::ratio<10>>>(at);
}

// What happened to the jobs of a pool in a span of time.
struct LoadCounts {
  std::int64_t added = 0, claimed = 0, done = 0, failed = 0, poisoned = 0, cancelled = 0;
  Durations waits, runs, totals;
  Millis run_time{0};  // of the tries that ended, together; not kept with each step

  void merge(const LoadCounts& other);
  // By the pool's latency_signal: wait (from due to claimed), run (from claimed to the end of the
  // try) or total (both).
  const Durations& of(std::string_view signal) const;
  bool operator==(const LoadCounts&) const = default;
};

// By the pool's name and the beginning of the step.
using LoadByStep = std::map<std::pair<std::string, Time>, LoadCounts>;

// What was there in a pool at one moment.
struct LoadGauges {
  std::int64_t pending = 0, claimed = 0, workers = 0, busy_workers = 0;
  bool operator==(const LoadGauges&) const = default;
};

// One step of a pool as one node saw it.
struct LoadStep {
  Time at;
  LoadCounts counts;
  std::optional<LoadGauges> gauges;  // looked at by the leader alone
};

// An hour of a pool: jobs that were added, those that ran to their end (done or poisoned), and how
// long their tries ran, together.
struct HourOfLoad {
  int weeks_ago = 0;
  std::int64_t added = 0, finished = 0;
  Millis run_time{0};
  bool operator==(const HourOfLoad&) const = default;
};

}  // namespace muster

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/policy/scaling.h"
#include "models/time.h"

namespace muster {

// One job to be replayed: when it may first run, and how each of its tries went. What is not known
// of a try, since it has not ended, is absent: then the median of those before it stands in.
struct RecordedJob {
  // After a try without success: how long until the next one may begin.
  struct Retry {
    Millis after{0};
    std::optional<Millis> run;
  };

  Time at;
  std::int64_t order = 0;  // of creation; the tie-break between equal priorities
  int priority = 0;
  std::optional<Millis> run;  // of the first try
  std::vector<Retry> retries = {};
};

// What it took to serve a load.
struct LoadFigures {
  std::int64_t launches = 0;
  Millis worker_time{0};  // from the launch of each worker to its end
  Millis p50_wait{0};     // of the tries, from the time they may begin
  Millis p95_wait{0};
  Millis max_wait{0};
  std::int64_t peak_workers = 0;
  std::int64_t wasted_starts = 0;   // workers that ended without having run a job
  std::int64_t unfinished = 0;      // jobs that were not served to their end
  std::optional<Time> finished_at;  // when the last try ended
  bool operator==(const LoadFigures&) const = default;
};

// What adaptive mode takes for latency.
enum class LatencySignal { kWait, kRun, kTotal };

// The policy to be tried, and the world around it.
struct SimulationRules {
  ScaleConfig config;
  LatencySignal latency = LatencySignal::kWait;
  std::optional<std::int64_t> host_slots;  // workers that fit on all hosts together
  double launch_rate = 20;                 // a second
  Millis idle_timeout = Seconds(30);       // of loop workers; 0: they wait for ever
  std::int64_t worker_max_jobs = 0;        // of loop workers; 0: no limit
  std::vector<Millis> boot_times;          // taken in turn; none: workers are there at once
  std::function<std::int64_t(Time)> scheduled_floor = {};  // changes with the minute at most
  std::optional<Time> from;            // nobody is there then; absent: the first job
  Time to;                             // no job comes after it; it goes on until all are served
  std::function<bool()> stopped = {};  // asked now and then; true: the outcome does not matter
};

struct SimulationOutcome {
  LoadFigures figures;
  std::int64_t jobs = 0;
  std::int64_t tries = 0;
  std::int64_t checks = 0;
  std::optional<Time> from;  // where it began; absent: there was nothing
};

// How long after SimulationRules::to jobs may take to be served; those that take longer stay
// unfinished. It keeps a policy that cannot cope from going on for ever.
inline constexpr Millis kLongestTail = std::chrono::days(31);

// Gives the jobs one by one, in the order of `at`; nothing when there are no more.
using NextJob = std::function<std::optional<RecordedJob>()>;

// Replays the jobs with workers that decideScale() launches and stops, and that take jobs as the
// real ones do: the highest priority first, then the oldest; by the worker that has waited longest.
// A check happens when jobs come and workers go, those of a moment together, and every 5 s.
//
// The same input gives the same outcome. Keeps the jobs that wait and the workers that are there,
// and nothing of what is over.
SimulationOutcome simulate(const NextJob& next, const SimulationRules& rules);

}  // namespace muster

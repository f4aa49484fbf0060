#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/time.h"

namespace muster {

// What `muster top` shows of a pool.
struct PoolGlance {
  std::string pool;
  std::int64_t queue = 0, runnable = 0, unplaceable = 0, blocked = 0, claimed = 0, done = 0,
               poisoned = 0;
  std::int64_t starting = 0, busy = 0, idle = 0, terminating = 0;
  std::string max_workers;
  double oldest_pending_seconds = 0;
  // ok, paused, circuit open, circuit probing, backing_off, suspended or no template
  std::string launches;
};

// And of a worker that has not ended.
struct WorkerGlance {
  std::string worker;
  std::string pool;
  std::string status;  // an active one is busy or idle
  std::string job;
  std::optional<Time> started_at;
  std::optional<Time> last_heartbeat;
};

struct TopSnapshot {
  std::string url;
  std::optional<Time> now;  // the service's clock
  std::vector<PoolGlance> pools;
  std::vector<WorkerGlance> workers;
  bool more_workers = false;  // than are listed
  std::string trouble;        // why the rest is old; empty when it is not
};

// `height` lines at most, none wider than `width`; 0 means no limit. What does not fit is counted
// in a last line: workers give way to pools, but for a few.
std::vector<std::string> renderTop(const TopSnapshot& snapshot, std::size_t width,
                                   std::size_t height, bool color);

}  // namespace muster

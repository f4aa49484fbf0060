#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "models/ids.h"
#include "models/time.h"

namespace muster {

// What a trigger sets in motion. Thread-safe, never blocks.
class Machines {
 public:
  virtual ~Machines() = default;
  struct Run {
    std::string trigger;
    PoolId pool;  // empty: every pool with a template
    std::optional<std::int64_t> max_workers = {};
    std::optional<Millis> stale_threshold = {};  // of the reaper
  };
  // parallelization_checker: a hint, coalesced.
  virtual void check(const Run& run) = 0;
  // stale_worker_reaper.
  virtual void reap(const Run& run) = 0;
};

// Runs a machine in a process of its own (`muster check`, `muster reap`).
class MachineProcess {
 public:
  virtual ~MachineProcess() = default;
  // Blocks until the process has ended, and ends it when it is asked to stop. The error says why it
  // did not end well.
  virtual std::optional<std::string> run(const std::string& machine, const Machines::Run& run,
                                         const std::stop_token& stop) = 0;
};

// Calls a function over HTTP.
class FunctionCall {
 public:
  virtual ~FunctionCall() = default;
  struct Target {
    std::string url;
    bool allow_private = false;
  };
  struct Failure {
    std::string what;
    bool retryable = true;
  };
  // One POST of `json`; blocks until it is answered, or it is asked to stop. Nothing when the
  // answer was 2xx.
  virtual std::optional<Failure> post(const Target& target, const std::string& json,
                                      const std::stop_token& stop) = 0;
};

}  // namespace muster

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ids.h"
#include "models/policy/placement.h"
#include "models/time.h"

namespace muster {

// A worker's status is an open string: these are the ones Muster itself knows.
namespace worker_status {
constexpr std::string_view kStarting = "starting";
constexpr std::string_view kActive = "active";
constexpr std::string_view kTerminating = "terminating";
constexpr std::string_view kTerminated = "terminated";
constexpr std::string_view kLost = "lost";

inline bool isEnded(std::string_view status) { return status == kTerminated || status == kLost; }
}  // namespace worker_status

struct NewWorker {
  WorkerId id;  // empty: one is made
  std::string pool;
  std::string host;
  std::optional<std::int64_t> pid;
  std::vector<std::string> capabilities;
  std::vector<std::string> executor_types;
  int slots = 1;
  std::string mode;
  std::string region;
  std::optional<Time> started_at;
  std::string metadata;  // JSON object, empty: {}
};

struct Worker {
  WorkerId id;
  std::string pool;  // empty: none
  std::string status;
  std::string status_reason;
  std::string mode;
  std::string host;
  std::optional<std::int64_t> pid;
  std::vector<std::string> capabilities;
  std::vector<std::string> executor_types;
  int slots = 1;
  std::string region;
  Time started_at;
  Time last_heartbeat;
  std::string current_task;
  std::string metadata;  // JSON object
  std::string metrics;   // JSON object
  std::int64_t jobs_done = 0;
  std::int64_t jobs_failed = 0;
  std::int64_t version = 1;
};

struct WorkerFilter {
  std::vector<std::string> statuses;  // empty: any
  std::string pool;
  std::string capability;
  std::optional<Millis> stale_threshold;  // only those silent for longer
};

}  // namespace muster

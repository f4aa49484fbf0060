#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ids.h"
#include "models/policy/placement.h"
#include "models/time.h"

namespace muster {

// Of the capabilities, and of the executors, that a worker has.
inline constexpr std::size_t kMostTraits = 1000;
inline constexpr std::size_t kMaxTraitBytes = 256;

// Of a worker's metadata, merged, and of its metrics.
inline constexpr std::size_t kMaxWorkerObjectBytes = 65'536;

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
  std::string metadata;                     // JSON object, empty: {}
  std::string process_key = {};             // set where the service can see the process itself
  std::vector<std::string> resources = {};  // names of those that it still holds
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
  std::int64_t registration = 0;  // rises each time it registers; of a launched one, set before
  bool holds = false;             // resources

  // Of the launch it came from; empty for a worker that was started by hand.
  std::string node;  // that launched it; empty: the only one
  std::string template_name;
  std::string template_version;
  std::optional<Time> launched_at;
  std::optional<Time> start_deadline;
  std::string launch_token_hash;
  std::string launch_verdict;  // open, ok, failed, none
  std::string process_key;     // with the pid, names a process for good
  std::optional<Time> exited_at;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::optional<std::int64_t> max_rss_bytes;
};

// How a process ended, as far as it is known.
struct ProcessEnd {
  std::optional<int> exit_code = {};
  std::optional<int> exit_signal = {};
  std::optional<std::int64_t> max_rss_bytes = {};
  std::string output = {};  // the end of it
  bool truncated = false;   // there was more before it

  // "exit code 3", "signal 9", "gone"
  std::string text() const;
  bool clean() const { return exit_code == 0; }
};

// Why a launched worker has ended, in a word: not_registered, lost (it was given up before), ok,
// error (another exit code), signal, unknown. `status` is the worker's before.
std::string_view exitReason(std::string_view status, const ProcessEnd& end);

struct WorkerFilter {
  std::vector<std::string> statuses;  // empty: any
  std::string pool;
  std::string capability;
  std::optional<Millis> stale_threshold;  // only those silent for longer
};

}  // namespace muster

#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/ids.h"
#include "models/policy/placement.h"
#include "models/time.h"

namespace muster {

enum class JobStatus { kPending, kClaimed, kDone, kPoisoned, kCancelled };
constexpr std::size_t kJobStatuses = 5;

std::string_view name(JobStatus status);
std::optional<JobStatus> parseJobStatus(std::string_view text);
inline bool isFinished(JobStatus status) {
  return status != JobStatus::kPending && status != JobStatus::kClaimed;
}

// What a producer pushes. Texts that are JSON hold it exactly as it was written.
struct NewJob {
  std::string data;  // JSON
  std::optional<int> max_retries = {};
  std::string retry = {};  // JSON object that overrides parts of the pool's, empty: none
  int priority = 0;
  Millis delay{0};
  std::optional<Time> available_at = {};
  std::optional<Time> expires_at = {};
  std::string tenant = {};      // empty: none
  std::string unique_key = {};  // empty: none
  Placement placement = {};
  std::string affinity = {};
  std::string resource_refs = {};  // JSON array, empty: none
  std::string traceparent = {};
};

// Such a job could never run.
bool expiresBeforeItBegins(const NewJob& job, Time now);

struct Job {
  JobId id;
  PoolId pool;
  std::string data;
  JobStatus status = JobStatus::kPending;
  int priority = 0;
  int attempts = 0;  // tries begun, the running one included
  int max_retries = 0;
  int crashes = 0;  // tries that ended because their worker vanished
  std::int64_t version = 1;
  std::string tenant;
  std::string unique_key;
  Time available_at;
  Time created_at;
  std::optional<Time> expires_at;
  std::optional<Time> claimed_at;
  std::optional<Time> finished_at;
  std::string claimed_by;
  std::string lease_token;
  std::optional<Time> lease_expires_at;
  bool cancel_requested = false;
  std::optional<std::string> result;  // JSON
  std::string artifacts;              // JSON array, empty: none
  std::string error;
  std::string reason;
  std::optional<double> progress;
  std::string progress_message;
  std::string placement;  // JSON, empty: anywhere
  std::string affinity;
  std::string resource_refs;  // JSON array, empty: none
  std::string traceparent;
  std::string retry;       // JSON object that overrides parts of the pool's, empty: none
  std::string effect_key;  // the same for every try: sha256(id, data)
};

// How much of an answer the job takes up, as far as it is not small anyway.
std::size_t payloadBytes(const Job& job);

// One try of a job, for people who ask what happened.
struct Attempt {
  int attempt = 0;
  std::string worker;
  Time claimed_at;
  std::optional<Time> ended_at;
  std::string outcome;  // running, done, failed, released, lease_expired, worker_lost, …
  std::string error;
  std::string error_class;  // empty: it did not fail by itself
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::optional<std::int64_t> max_rss_bytes;
  std::string output_tail;
};

// What a worker can tell of a try that did not work out.
struct FailureReport {
  std::string error;
  // What failures of one cause have in common; empty: see errorClass().
  std::string error_class = {};
  bool retryable = true;
  bool cancelled = false;  // the worker stopped because it was told to
  std::optional<Millis> retry_after;
  bool no_penalty = false;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::optional<std::int64_t> max_rss_bytes;
  std::string output_tail;
};

// Who reports: the lease token proves it; without one the job's holder is taken at its word.
struct Reporter {
  std::string lease_token;  // empty: not given
  std::string worker;       // empty: not given
  PoolId pool = {};         // that the job must be in; empty: any
  // Of the worker's own token: where no lease token proves more, it must be the present one.
  std::optional<std::int64_t> registration = {};
};

}  // namespace muster

#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/ids.h"
#include "models/policy/pin_mode.h"
#include "models/policy/placement.h"
#include "models/resource.h"
#include "models/time.h"

namespace muster {

// kBlocked comes before kPending: a job of a flow that waits for other jobs.
enum class JobStatus { kPending, kClaimed, kDone, kPoisoned, kCancelled, kBlocked };
constexpr std::size_t kJobStatuses = 6;

std::string_view name(JobStatus status);
std::optional<JobStatus> parseJobStatus(std::string_view text);
// It has not started: a worker never had it, or has given it back.
inline bool isWaiting(JobStatus status) {
  return status == JobStatus::kPending || status == JobStatus::kBlocked;
}
inline bool isFinished(JobStatus status) {
  return !isWaiting(status) && status != JobStatus::kClaimed;
}

// A resource that a job refers to, as its producer names it.
struct ResourceRef {
  std::string resource;  // its id, or a uid
  std::string as;        // the name under which the job sees it; empty: the last segment of the id
  std::string worker;    // that is said to hold it; empty: not said
  bool operator==(const ResourceRef&) const = default;
};

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
  std::string resource_refs = {};      // JSON array, empty: none
  std::vector<ResourceRef> refs = {};  // the same, read
  PinMode affinity_mode = PinMode::kPreferred;
  std::optional<Millis> pin_wait = {};  // for a preferred holder; absent: as the service has it
  std::string traceparent = {};
};

// Who must or should run a job, and what it asked for.
struct JobPin {
  std::string holder;  // empty: anybody may take it now
  PinMode mode = PinMode::kPreferred;
  std::optional<PinMode> affinity_mode;
  std::optional<Time> unpin_at;
  std::optional<Millis> wait;
};

// Such a job could never run.
bool expiresBeforeItBegins(const NewJob& job, Time now);

// What of a flow belongs to a job: its place in one, or, of a callback, how the flow ended.
struct JobFlow {
  FlowId id;
  std::string flow_name;  // empty: none
  int round = 1;
  std::string callback;     // "succeeded", "failed" or "ended"; empty: the job is in the flow
  std::string flow_status;  // of a callback only
  // The rest is of a job in the flow.
  std::string name;
  std::string parent;  // id of the job that added it, empty: none
  bool may_fail = false;
  std::int64_t blocked_by = 0;  // edges to it that are not met yet
  std::string upstream;         // JSON object; only for the worker that has claimed it
};

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
  // What it refers to, if that is registered; only for the worker that has claimed it.
  std::vector<JobInput> inputs;
  std::shared_ptr<const JobFlow> flow;  // null: it has nothing to do with one
  std::shared_ptr<const JobPin> pin;    // null: it has neither a pin nor a key
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

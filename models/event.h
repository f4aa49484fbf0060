#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "models/time.h"

namespace muster {

namespace event_type {
constexpr std::string_view kJobCreated = "job.created";
constexpr std::string_view kJobClaimed = "job.claimed";
constexpr std::string_view kJobProgress = "job.progress";
constexpr std::string_view kJobCompleted = "job.completed";
constexpr std::string_view kJobFailed = "job.failed";
constexpr std::string_view kJobPoisoned = "job.poisoned";
constexpr std::string_view kJobReleased = "job.released";
constexpr std::string_view kJobReassigned = "job.reassigned";
constexpr std::string_view kJobCancelled = "job.cancelled";
constexpr std::string_view kJobRetried = "job.retried";
constexpr std::string_view kJobExpired = "job.expired";
constexpr std::string_view kJobUnblocked = "job.unblocked";
constexpr std::string_view kJobUnpinned = "job.unpinned";
constexpr std::string_view kJobLateResultDropped = "job.late_result_dropped";
constexpr std::string_view kWorkerStarting = "worker.starting";
constexpr std::string_view kWorkerRegistered = "worker.registered";
constexpr std::string_view kWorkerTerminating = "worker.terminating";
constexpr std::string_view kWorkerTerminated = "worker.terminated";
constexpr std::string_view kWorkerLost = "worker.lost";
constexpr std::string_view kWorkerExited = "worker.exited";
constexpr std::string_view kWorkerTokensRotated = "worker.tokens_rotated";
constexpr std::string_view kPoolCreated = "pool.created";
constexpr std::string_view kPoolUpdated = "pool.updated";
constexpr std::string_view kPoolPaused = "pool.paused";
constexpr std::string_view kPoolResumed = "pool.resumed";
constexpr std::string_view kPoolScaled = "pool.scaled";
constexpr std::string_view kPoolLaunchSuspended = "pool.launch_suspended";
constexpr std::string_view kPoolCircuitOpened = "pool.circuit_opened";
constexpr std::string_view kPoolCircuitClosed = "pool.circuit_closed";
constexpr std::string_view kPoolDeleted = "pool.deleted";
constexpr std::string_view kTriggerFired = "trigger.fired";
constexpr std::string_view kTriggerRejected = "trigger.rejected";
constexpr std::string_view kWebhookCreated = "webhook.created";
constexpr std::string_view kWebhookUpdated = "webhook.updated";
constexpr std::string_view kWebhookDisabled = "webhook.disabled";
constexpr std::string_view kWebhookDeleted = "webhook.deleted";
constexpr std::string_view kNodeJoined = "node.joined";
constexpr std::string_view kNodeLost = "node.lost";
constexpr std::string_view kLeaderElected = "leader.elected";
constexpr std::string_view kLeaderLost = "leader.lost";
constexpr std::string_view kFlowCreated = "flow.created";
constexpr std::string_view kFlowClosed = "flow.closed";
constexpr std::string_view kFlowSucceeded = "flow.succeeded";
constexpr std::string_view kFlowFailed = "flow.failed";
constexpr std::string_view kFlowCancelled = "flow.cancelled";
constexpr std::string_view kFlowRetried = "flow.retried";
constexpr std::string_view kFlowDeleted = "flow.deleted";
constexpr std::string_view kResourceCreated = "resource.created";
constexpr std::string_view kResourceStale = "resource.stale";
constexpr std::string_view kResourceRecovered = "resource.recovered";
constexpr std::string_view kResourceEvicted = "resource.evicted";
constexpr std::string_view kResourceLost = "resource.lost";
constexpr std::string_view kHostAway = "host.away";
constexpr std::string_view kHostLost = "host.lost";
constexpr std::string_view kAffinityBound = "affinity.bound";
constexpr std::string_view kAffinityReleased = "affinity.released";

// All of them: triggers may name any.
inline constexpr std::array kAll = {
    kJobCreated,        kJobClaimed,          kJobProgress,       kJobCompleted,
    kJobFailed,         kJobPoisoned,         kJobReleased,       kJobReassigned,
    kJobCancelled,      kJobRetried,          kJobExpired,        kJobLateResultDropped,
    kJobUnblocked,      kWorkerStarting,      kWorkerRegistered,  kWorkerTerminating,
    kWorkerTerminated,  kWorkerLost,          kWorkerExited,      kWorkerTokensRotated,
    kPoolCreated,       kPoolUpdated,         kPoolPaused,        kPoolResumed,
    kPoolScaled,        kPoolLaunchSuspended, kPoolCircuitOpened, kPoolCircuitClosed,
    kPoolDeleted,       kTriggerFired,        kTriggerRejected,   kWebhookCreated,
    kWebhookUpdated,    kWebhookDisabled,     kWebhookDeleted,    kNodeJoined,
    kNodeLost,          kLeaderElected,       kLeaderLost,        kFlowCreated,
    kFlowClosed,        kFlowSucceeded,       kFlowFailed,        kFlowCancelled,
    kFlowRetried,       kFlowDeleted,         kResourceCreated,   kResourceStale,
    kResourceRecovered, kResourceEvicted,     kResourceLost,      kHostAway,
    kHostLost,          kJobUnpinned,         kAffinityBound,     kAffinityReleased};
}  // namespace event_type

// One state change, written in the same transaction as the change itself.
struct Event {
  std::int64_t seq = 0;  // rises
  Time at;
  std::string type;  // one of event_type
  std::string pool;
  std::string job;
  std::string worker;
  std::string node;
  std::optional<int> attempt;
  std::string details;  // JSON object, empty: none
  std::string caller;   // who asked for it (callerText); empty: a worker, or the service itself
  std::int64_t job_seq = 0;  // the job's number in the store, 0: none; not shown
  // Not kept, for subscribers only: how long a claimed job had waited, an ended try had run, a
  // launched worker took to register.
  Millis took{0};
  Millis since_due{0};  // of a try that ended: from when the job was due
  bool pinned = false;  // a claimed job that only this worker, or those of its host, could take
};

// A job has become work for the first time: it was created, or, if it was blocked, unblocked. Of
// the events of a creation only that of a blocked job has details.
inline bool addsWork(const Event& event) {
  return event.type == event_type::kJobUnblocked ||
         (event.type == event_type::kJobCreated && event.details.empty());
}

}  // namespace muster

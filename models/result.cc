#include "models/result.h"

namespace muster {

const ErrorKind& describe(ErrorCode code) {
  static constexpr ErrorKind kInvalidJson{"invalid_json", 400, "The body is not valid JSON", false};
  static constexpr ErrorKind kInvalidQuery{"invalid_query", 400, "A query parameter is not valid",
                                           false};
  static constexpr ErrorKind kInvalidHeader{"invalid_header", 400, "A header is not valid", false};
  static constexpr ErrorKind kLimitExceeded{
      "limit_exceeded", 400, "The body is nested too deep or has too many keys", false};
  static constexpr ErrorKind kUnauthorized{"unauthorized", 401, "A valid token is required", false};
  static constexpr ErrorKind kForbidden{"forbidden", 403, "The token lacks the needed scope",
                                        false};
  static constexpr ErrorKind kOrigin{"origin_not_allowed", 403,
                                     "Requests from this web origin are not allowed", false};
  static constexpr ErrorKind kNotFound{"not_found", 404, "There is no such thing", false};
  static constexpr ErrorKind kWorkerUnknown{"worker_unknown", 404, "The worker is not registered",
                                            false};
  static constexpr ErrorKind kMethod{"method_not_allowed", 405, "The path has no such method",
                                     false};
  static constexpr ErrorKind kLeaseLost{"lease_lost", 409, "The lease is no longer yours", false};
  static constexpr ErrorKind kFinished{"already_finished", 409, "The job has already finished",
                                       false};
  static constexpr ErrorKind kNotClaimed{"not_claimed", 409, "The job is not claimed", false};
  static constexpr ErrorKind kNotClaimable{"not_claimable", 409, "The job cannot be claimed now",
                                           false};
  static constexpr ErrorKind kNotRetryable{
      "not_retryable", 409, "Only poisoned and cancelled jobs can be retried", false};
  static constexpr ErrorKind kJobActive{"job_active", 409, "A worker holds the job", false};
  static constexpr ErrorKind kWorkerActive{"worker_active", 409, "The worker has not ended", false};
  static constexpr ErrorKind kWorkerIdTaken{"worker_id_taken", 409,
                                            "The id belongs to a launched worker", false};
  static constexpr ErrorKind kPoolNotEmpty{"pool_not_empty", 409, "The pool still holds jobs",
                                           false};
  static constexpr ErrorKind kTriggerConfigured{"trigger_configured", 409,
                                                "The trigger stands in the configuration", false};
  static constexpr ErrorKind kTriggerDisabled{"trigger_disabled", 409, "The trigger is disabled",
                                              false};
  static constexpr ErrorKind kFlowClosed{"flow_closed", 409, "The flow takes no more jobs", false};
  static constexpr ErrorKind kFlowRunning{"flow_running", 409, "The flow has not ended", false};
  static constexpr ErrorKind kNameTaken{"name_taken", 409, "Another job of the level has this name",
                                        false};
  static constexpr ErrorKind kUniqueKeyTaken{"unique_key_taken", 409,
                                             "A living job has this unique_key", false};
  static constexpr ErrorKind kJobInFlow{"job_in_flow", 409, "The job belongs to a flow", false};
  static constexpr ErrorKind kTooMany{"too_many", 409, "There are as many as there may be", false};
  static constexpr ErrorKind kNotClustered{"not_clustered", 409, "There is only one node", false};
  static constexpr ErrorKind kGone{"worker_gone", 410, "The worker has ended: stop", false};
  static constexpr ErrorKind kEventsExpired{"events_expired", 410,
                                            "The events after that position are gone", false};
  static constexpr ErrorKind kResourceExists{"resource_exists", 409, "Another resource has this id",
                                             false};
  static constexpr ErrorKind kResourceInUse{"resource_in_use", 409,
                                            "Jobs still refer to the resource", false};
  static constexpr ErrorKind kResourceGone{"resource_evicted", 410, "The resource is gone", false};
  static constexpr ErrorKind kWrongOffset{"wrong_offset", 409, "The upload is at another offset",
                                          false};
  static constexpr ErrorKind kContentExists{"content_exists", 409,
                                            "The resource has its content already", false};
  static constexpr ErrorKind kConflictingPins{
      "conflicting_pins", 409, "What the job asks for cannot be in one place", false};
  static constexpr ErrorKind kAffinityConflict{"affinity_conflict", 409,
                                               "Another holder has this key", false};
  static constexpr ErrorKind kHostConflict{"host_conflict", 409,
                                           "Another folder is in use on this host", false};
  static constexpr ErrorKind kBadSignature{"bad_signature", 403,
                                           "The address was changed, or its time is over", false};
  static constexpr ErrorKind kQuotaExceeded{"quota_exceeded", 429, "The tenant has too much stored",
                                            true};
  static constexpr ErrorKind kQuotaTooSmall{
      "quota_exceeded", 413, "It is larger than all that the tenant may store", false};
  static constexpr ErrorKind kRange{"range_not_satisfiable", 416,
                                    "The content does not have these bytes", false};
  static constexpr ErrorKind kUnavailable{"worker_unavailable", 503,
                                          "The holder of the resource is not there", true};
  static constexpr ErrorKind kStoreFull{"store_full", 503, "There is no room for the bytes", true};
  static constexpr ErrorKind kElsewhere{"place_unavailable", 503,
                                        "No node that is there has the bytes", true};
  static constexpr ErrorKind kVersion{"version_mismatch", 412, "The resource has changed", false};
  static constexpr ErrorKind kNotStored{"not_stored", 409, "The bytes are not here", false};
  static constexpr ErrorKind kInlineLimit{"inline_limit", 413,
                                          "The result is too large to travel with the job", false};
  static constexpr ErrorKind kTooLarge{"body_too_large", 413, "The body is too large", false};
  static constexpr ErrorKind kHost{"misdirected_host", 421, "The Host header is not ours", false};
  static constexpr ErrorKind kInvalid{"validation_failed", 422, "Some fields are not valid", false};
  static constexpr ErrorKind kInvalidId{"invalid_id", 422, "The id in the path is not valid",
                                        false};
  static constexpr ErrorKind kKeyReused{"idempotency_key_reused", 422,
                                        "The Idempotency-Key was used with another body", false};
  static constexpr ErrorKind kNotKept{"answer_not_kept", 409,
                                      "The request was done, its answer is not kept", false};
  static constexpr ErrorKind kRate{"rate_limited", 429, "Too many requests", true};
  static constexpr ErrorKind kInternal{"internal_error", 500, "Something went wrong here", true};
  static constexpr ErrorKind kDraining{"draining", 503, "The service is stopping", true};
  static constexpr ErrorKind kBusy{"store_busy", 503, "The store is busy", true};
  static constexpr ErrorKind kStore{"store_unavailable", 503, "The store cannot be used", true};
  static constexpr ErrorKind kNotLeader{"not_leader", 503, "Only the leader does this", true};
  static constexpr ErrorKind kReadOnlyNode{"read_only_node", 503, "This node only reads", true};

  switch (code) {
    case ErrorCode::kInvalidJson:
      return kInvalidJson;
    case ErrorCode::kInvalidQuery:
      return kInvalidQuery;
    case ErrorCode::kInvalidHeader:
      return kInvalidHeader;
    case ErrorCode::kLimitExceeded:
      return kLimitExceeded;
    case ErrorCode::kUnauthorized:
      return kUnauthorized;
    case ErrorCode::kForbidden:
      return kForbidden;
    case ErrorCode::kOriginNotAllowed:
      return kOrigin;
    case ErrorCode::kNotFound:
      return kNotFound;
    case ErrorCode::kWorkerUnknown:
      return kWorkerUnknown;
    case ErrorCode::kMethodNotAllowed:
      return kMethod;
    case ErrorCode::kLeaseLost:
      return kLeaseLost;
    case ErrorCode::kAlreadyFinished:
      return kFinished;
    case ErrorCode::kNotClaimed:
      return kNotClaimed;
    case ErrorCode::kNotClaimable:
      return kNotClaimable;
    case ErrorCode::kNotRetryable:
      return kNotRetryable;
    case ErrorCode::kNotStored:
      return kNotStored;
    case ErrorCode::kJobActive:
      return kJobActive;
    case ErrorCode::kWorkerActive:
      return kWorkerActive;
    case ErrorCode::kWorkerIdTaken:
      return kWorkerIdTaken;
    case ErrorCode::kPoolNotEmpty:
      return kPoolNotEmpty;
    case ErrorCode::kTriggerConfigured:
      return kTriggerConfigured;
    case ErrorCode::kTriggerDisabled:
      return kTriggerDisabled;
    case ErrorCode::kFlowClosed:
      return kFlowClosed;
    case ErrorCode::kFlowRunning:
      return kFlowRunning;
    case ErrorCode::kNameTaken:
      return kNameTaken;
    case ErrorCode::kUniqueKeyTaken:
      return kUniqueKeyTaken;
    case ErrorCode::kJobInFlow:
      return kJobInFlow;
    case ErrorCode::kTooMany:
      return kTooMany;
    case ErrorCode::kNotClustered:
      return kNotClustered;
    case ErrorCode::kGone:
      return kGone;
    case ErrorCode::kEventsExpired:
      return kEventsExpired;
    case ErrorCode::kResourceExists:
      return kResourceExists;
    case ErrorCode::kResourceInUse:
      return kResourceInUse;
    case ErrorCode::kResourceGone:
      return kResourceGone;
    case ErrorCode::kWrongOffset:
      return kWrongOffset;
    case ErrorCode::kContentExists:
      return kContentExists;
    case ErrorCode::kConflictingPins:
      return kConflictingPins;
    case ErrorCode::kAffinityConflict:
      return kAffinityConflict;
    case ErrorCode::kHostConflict:
      return kHostConflict;
    case ErrorCode::kBadSignature:
      return kBadSignature;
    case ErrorCode::kQuotaExceeded:
      return kQuotaExceeded;
    case ErrorCode::kQuotaTooSmall:
      return kQuotaTooSmall;
    case ErrorCode::kRangeNotSatisfiable:
      return kRange;
    case ErrorCode::kUnavailable:
      return kUnavailable;
    case ErrorCode::kStoreFull:
      return kStoreFull;
    case ErrorCode::kElsewhere:
      return kElsewhere;
    case ErrorCode::kVersionMismatch:
      return kVersion;
    case ErrorCode::kBodyTooLarge:
      return kTooLarge;
    case ErrorCode::kInlineLimit:
      return kInlineLimit;
    case ErrorCode::kMisdirectedHost:
      return kHost;
    case ErrorCode::kInvalid:
      return kInvalid;
    case ErrorCode::kInvalidId:
      return kInvalidId;
    case ErrorCode::kIdempotencyMismatch:
      return kKeyReused;
    case ErrorCode::kAnswerNotKept:
      return kNotKept;
    case ErrorCode::kRateLimited:
      return kRate;
    case ErrorCode::kInternal:
      return kInternal;
    case ErrorCode::kDraining:
      return kDraining;
    case ErrorCode::kStoreBusy:
      return kBusy;
    case ErrorCode::kStoreUnavailable:
      return kStore;
    case ErrorCode::kNotLeader:
      return kNotLeader;
    case ErrorCode::kReadOnlyNode:
      return kReadOnlyNode;
  }
  return kInternal;
}

}  // namespace muster

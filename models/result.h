#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace muster {

// Every way in which a request can be refused. The names are part of the API and never change
// their meaning; describe() gives the name, the HTTP status and the title of each.
enum class ErrorCode {
  kInvalidJson,
  kInvalidQuery,
  kInvalidHeader,
  kLimitExceeded,
  kUnauthorized,
  kForbidden,
  kOriginNotAllowed,
  kNotFound,
  kWorkerUnknown,
  kMethodNotAllowed,
  kLeaseLost,
  kAlreadyFinished,
  kNotClaimed,
  kNotClaimable,
  kNotRetryable,
  kNotStored,
  kJobActive,
  kWorkerActive,
  kWorkerIdTaken,
  kPoolNotEmpty,
  kTriggerConfigured,
  kTriggerDisabled,
  kFlowClosed,
  kFlowRunning,
  kNameTaken,
  kUniqueKeyTaken,
  kJobInFlow,
  kTooMany,
  kNotClustered,
  kGone,
  kEventsExpired,
  kResourceExists,
  kResourceInUse,
  kResourceGone,
  kWrongOffset,
  kContentExists,
  kConflictingPins,
  kAffinityConflict,
  kHostConflict,
  kBadSignature,
  kQuotaExceeded,
  kQuotaTooSmall,
  kRangeNotSatisfiable,
  kUnavailable,
  kStoreFull,
  kElsewhere,
  kVersionMismatch,
  kBodyTooLarge,
  kInlineLimit,
  kMisdirectedHost,
  kInvalid,
  kInvalidId,
  kIdempotencyMismatch,
  kAnswerNotKept,
  kRateLimited,
  kInternal,
  kDraining,
  kStoreBusy,
  kStoreUnavailable,
  kNotLeader,
  kReadOnlyNode,
};

struct ErrorKind {
  std::string_view name;
  int status;
  std::string_view title;
  bool retryable;
};
const ErrorKind& describe(ErrorCode code);

// One bad field: where (a JSON pointer, or the name of a query parameter or header), and why.
struct FieldError {
  std::string pointer;
  std::string code;
  std::string detail;

  bool operator==(const FieldError&) const = default;
};

struct Error {
  ErrorCode code;
  std::string detail;
  std::vector<FieldError> fields = {};
  std::optional<std::chrono::seconds> retry_after = {};
  std::string leader_url = {};  // where the request would be taken, if that is known
  // What else the answer says: names, and values in JSON.
  std::vector<std::pair<std::string, std::string>> members = {};
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string detail) {
  return tl::unexpected<Error>(Error{code, std::move(detail)});
}

}  // namespace muster

#include "models/result.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace muster {
namespace {

constexpr int kLastCode = static_cast<int>(ErrorCode::kReadOnlyNode);

TEST(Describe, givesEveryCodeANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int code = 0; code <= kLastCode; ++code) {
    const ErrorKind& kind = describe(static_cast<ErrorCode>(code));
    // A quota has two answers under one name: it would fit later, or never.
    if (static_cast<ErrorCode>(code) != ErrorCode::kQuotaTooSmall) {
      EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    }
    EXPECT_TRUE(std::all_of(kind.name.begin(), kind.name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || c == '_';
    })) << kind.name;
    EXPECT_FALSE(kind.title.empty()) << kind.name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kLastCode));
}

TEST(Describe, givesTheStatusTheApiPromises) {
  struct Promise {
    ErrorCode code;
    std::string_view name;
    int status;
  };
  const Promise promises[] = {
      {ErrorCode::kInvalidJson, "invalid_json", 400},
      {ErrorCode::kLimitExceeded, "limit_exceeded", 400},
      {ErrorCode::kUnauthorized, "unauthorized", 401},
      {ErrorCode::kOriginNotAllowed, "origin_not_allowed", 403},
      {ErrorCode::kNotFound, "not_found", 404},
      {ErrorCode::kWorkerUnknown, "worker_unknown", 404},
      {ErrorCode::kMethodNotAllowed, "method_not_allowed", 405},
      {ErrorCode::kLeaseLost, "lease_lost", 409},
      {ErrorCode::kAlreadyFinished, "already_finished", 409},
      {ErrorCode::kNotClaimed, "not_claimed", 409},
      {ErrorCode::kNotClaimable, "not_claimable", 409},
      {ErrorCode::kWorkerActive, "worker_active", 409},
      {ErrorCode::kPoolNotEmpty, "pool_not_empty", 409},
      {ErrorCode::kGone, "worker_gone", 410},
      {ErrorCode::kEventsExpired, "events_expired", 410},
      {ErrorCode::kVersionMismatch, "version_mismatch", 412},
      {ErrorCode::kBodyTooLarge, "body_too_large", 413},
      {ErrorCode::kMisdirectedHost, "misdirected_host", 421},
      {ErrorCode::kInvalidId, "invalid_id", 422},
      {ErrorCode::kRateLimited, "rate_limited", 429},
      {ErrorCode::kInternal, "internal_error", 500},
      {ErrorCode::kDraining, "draining", 503},
      {ErrorCode::kStoreBusy, "store_busy", 503},
      {ErrorCode::kStoreUnavailable, "store_unavailable", 503},
      {ErrorCode::kNotLeader, "not_leader", 503},
      {ErrorCode::kReadOnlyNode, "read_only_node", 503},
  };
  for (const Promise& promise : promises) {
    EXPECT_EQ(describe(promise.code).name, promise.name);
    EXPECT_EQ(describe(promise.code).status, promise.status) << promise.name;
  }
}

TEST(Describe, callsRetryableWhatMayWorkLater) {
  for (int code = 0; code <= kLastCode; ++code) {
    const ErrorKind& kind = describe(static_cast<ErrorCode>(code));
    EXPECT_EQ(kind.retryable, kind.status >= 500 || kind.status == 429) << kind.name;
  }
}

}  // namespace
}  // namespace muster

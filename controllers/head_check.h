#pragma once

#include "controllers/access.h"
#include "controllers/buffer_budget.h"
#include "controllers/request_head.h"
#include "controllers/router.h"
#include "models/result.h"

namespace muster {

// Decides on the head of a request whether its body is read: what the gateway would refuse without
// the body is refused before it. Immutable, so safe from every thread.
class HeadCheck {
 public:
  HeadCheck(const Router& router, const Access& access, std::size_t max_body_bytes)
      : router_(router), access_(access), max_body_bytes_(max_body_bytes) {}

  Result<CallerKind> check(const RequestHead& head) const;
  // kBodyTooLarge above max_body_bytes.
  Status checkBodySize(std::size_t bytes) const;

 private:
  const Router& router_;
  const Access& access_;
  const std::size_t max_body_bytes_;
};

// The answer to the request that is being handed to the framework on this thread. Its body is not
// there, so the gateway gives this answer and does nothing else. The framework keeps the order of
// answers on the connection.
class EarlyRefusal {
 public:
  explicit EarlyRefusal(const Error& error) { current_ = &error; }
  ~EarlyRefusal() { current_ = nullptr; }
  EarlyRefusal(const EarlyRefusal&) = delete;
  EarlyRefusal& operator=(const EarlyRefusal&) = delete;

  static const Error* ofThisThread() { return current_; }

 private:
  static inline thread_local const Error* current_ = nullptr;
};

}  // namespace muster

#pragma once

#include <optional>
#include <string>

#include "models/result.h"
#include "models/store/sql/session.h"

namespace muster {

// Who sent which request under which Idempotency-Key.
struct RequestKey {
  std::string principal;
  std::string method;
  std::string path;
  std::string key;
  std::string body_hash;
};

struct StoredAnswer {
  int status = 0;
  std::string body;
  std::string etag = {};
};

// Answers that were given, for a day, so that a repeated request gets the same one.
class Idempotency {
 public:
  explicit Idempotency(Session& session) : s_(session) {}

  // The answer of the same request; kIdempotencyMismatch when the key came with another body.
  Result<std::optional<StoredAnswer>> find(const RequestKey& key);
  void remember(const RequestKey& key, const StoredAnswer& answer);
  std::int64_t removeExpired(int limit);

 private:
  Session& s_;
};

}  // namespace muster

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/http.h"

namespace muster::test {

// A text in a path: everything but letters and digits is escaped.
std::string pathText(const std::string& text);
// "/v1/resources/ID" and what follows it.
std::string resourcePath(const std::string& id, const std::string& tail = {});
std::string contentPath(const std::string& id);

// The header Content-Digest of these bytes.
Headers digestOf(const std::string& bytes);
// Bytes that repeat only after a long time, the same for the same seed.
std::string noise(std::size_t size, unsigned seed = 1);

// Calls about resources. `fields` are the members of a JSON object, without its braces.
class ResourceClient {
 public:
  explicit ResourceClient(Http& http, Headers who = {}) : http_(http), who_(std::move(who)) {}

  Reply tryCreate(const std::string& fields);
  // Expects that it is new, and notes a failure otherwise.
  Json::Value create(const std::string& fields);
  // One with an id, a type and these bytes.
  Json::Value createStored(const std::string& id, const std::string& bytes,
                           const std::string& fields = {});
  // All that are living, or that the query asks for, page by page.
  std::vector<Json::Value> all(const std::string& query = {});
  Reply get(const std::string& id) { return http_.get(resourcePath(id), who_); }
  Reply remove(const std::string& id, const std::string& query = {});
  Reply act(const std::string& id, const std::string& verb, const std::string& body = {});
  Reply put(const std::string& id, const std::string& bytes, Headers headers = {});
  Reply patch(const std::string& id, std::int64_t offset, const std::string& bytes,
              Headers headers = {});
  Reply content(const std::string& id, Headers headers = {});

 private:
  Headers with(Headers headers) const;

  Http& http_;
  Headers who_;
};

}  // namespace muster::test

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "app/http/http_client.h"

namespace muster {

// Whom a client takes for the service, beside the one at the URL that it was given.
struct ServiceTrust {
  TlsFiles files = {};
  // URLs of nodes, separated by commas, that may get the token too; "*": every node that the
  // service names.
  std::string nodes = {};
};

// Speaks HTTP to one service and keeps its connection. Blocks. Not thread-safe: one per thread.
class ApiClient {
 public:
  // `url` like http://127.0.0.1:8080; an empty token sends none.
  ApiClient(std::string url, std::string token, ServiceTrust trust = {});

  const std::string& url() const { return url_; }
  // Of the requests from now on; the connection stays.
  void setToken(std::string token) { token_ = std::move(token); }

  // Any answer, also a refusal, is an answer. What is read is also read where the service says that
  // it lies; the token does not go there. One that names the leader, because only that takes
  // the request, is followed there; so are the requests after it, until that cannot be reached. If
  // there is a token, and the leader may not have it, the refusal is the answer.
  tl::expected<HttpAnswer, Unreachable> send(HttpRequest request);

  // See HttpClient.
  tl::expected<HttpAnswer, Unreachable> stream(
      HttpRequest request, Seconds silence, const std::function<bool(std::string_view)>& on_bytes);

 private:
  // With what every request carries.
  HttpRequest complete(HttpRequest request) const;
  bool mayFollow(const HttpUrl& leader) const;
  tl::expected<HttpAnswer, Unreachable> sendToService(HttpRequest request);

  std::string url_;
  std::string token_;
  const ServiceTrust trust_;
  std::optional<HttpClient> http_;    // nothing when the URL is none
  std::optional<HttpClient> leader_;  // nothing when nobody sent us on
  std::string leader_url_;
};

// Whether what is meant for the service at `own` may go to `other`: it is at the same place, or
// among `nodes` (see ServiceTrust). "*" leads nobody from https to http. Pure.
bool isTrustedNode(const HttpUrl& own, const HttpUrl& other, std::string_view nodes);

// Joins the parts with slashes and escapes what may not stand in a path.
std::string apiPath(const std::vector<std::string>& parts);

// "?a=1&b=2" of the parameters that are not empty; "" when none is left.
std::string apiQuery(const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace muster

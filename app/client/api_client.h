#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "models/time.h"

namespace muster {

struct ApiRequest {
  std::string method = "GET";
  std::string path;  // with its query; see apiPath() and apiQuery()
  std::optional<std::string> body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  Millis timeout = Seconds(30);  // for the whole exchange; a stream has no such limit
  // Asked about once a second, and after a signal: true ends the exchange as Unreachable.
  std::function<bool()> given_up = {};
};

struct ApiAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::optional<Time> date;  // the service's clock

  bool ok() const { return status >= 200 && status < 300; }
};

// No answer: the service is not there, the connection broke, or it took too long.
struct Unreachable {
  std::string what;
  bool refused = false;  // nothing listens at that address
};

// Speaks HTTP to one service and keeps its connection. Blocks. Not thread-safe: one per thread.
class ApiClient {
 public:
  // `url` like http://127.0.0.1:8080; an empty token sends none.
  ApiClient(std::string url, std::string token);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  const std::string& url() const { return url_; }

  // Any answer, also a refusal, is an answer. One that names the leader, because only that takes
  // the request, is followed there; so are the requests after it, until that cannot be reached.
  tl::expected<ApiAnswer, Unreachable> send(const ApiRequest& request);

  // Hands over a 2xx body piece by piece until it ends, `on_bytes` answers false, or nothing has
  // come for `silence`. The answer's own body is filled only when the service refused.
  tl::expected<ApiAnswer, Unreachable> stream(const ApiRequest& request, Seconds silence,
                                              std::function<bool(std::string_view)> on_bytes);

 private:
  struct Connection;

  tl::expected<ApiAnswer, Unreachable> sendTo(const std::string& url, const ApiRequest& request);

  std::string url_;
  std::string leader_url_;  // empty: nobody sent us on
  std::string token_;
  std::unique_ptr<Connection> connection_;
};

// Joins the parts with slashes and escapes what may not stand in a path.
std::string apiPath(const std::vector<std::string>& parts);

// "?a=1&b=2" of the parameters that are not empty; "" when none is left.
std::string apiQuery(const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace muster

#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "app/http/http_url.h"
#include "app/http/wire.h"
#include "models/time.h"

namespace muster {

struct HttpRequest {
  std::string method = "GET";
  std::string path = {};  // with its query
  std::optional<std::string> body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  Millis timeout = Seconds(30);  // for the whole exchange; a stream has no such limit
  // Asked about once a second, and after a signal: true ends the exchange as Unreachable.
  std::function<bool()> given_up = {};
  bool head_only = false;  // the body of the answer is not wanted, and not waited for
  // More of the answer's body than this is not waited for.
  std::size_t most_body_bytes = std::numeric_limits<std::size_t>::max();
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
  std::optional<Time> date() const;  // the other side's clock
};

// Speaks HTTP/1.1 to one place and keeps its connection. No redirects, no proxies. Light to start:
// nothing is initialised but what is used. Whatever the other side sends, what is kept of it is
// bounded: headers by 64 KiB, the body by the request. Blocks. Not thread-safe: one per thread.
class HttpClient {
 public:
  explicit HttpClient(HttpUrl url, Wire::AddressRule allowed = {}, TlsFiles files = {});

  // Any answer, also a refusal, is an answer.
  tl::expected<HttpAnswer, Unreachable> send(const HttpRequest& request);

  // Hands over a 2xx body piece by piece until it ends, `on_bytes` answers false, or nothing has
  // come for `silence`. The answer's own body is filled only when the service refused.
  tl::expected<HttpAnswer, Unreachable> stream(
      const HttpRequest& request, Millis silence,
      const std::function<bool(std::string_view)>& on_bytes);

 private:
  using TakeBytes = std::function<bool(std::string_view)>;

  tl::expected<HttpAnswer, Unreachable> run(const HttpRequest& request, const Patience& patience,
                                            const TakeBytes& on_bytes);
  HttpAnswer exchange(const HttpRequest& request, const Patience& patience,
                      const TakeBytes& on_bytes);

  const HttpUrl url_;
  const Wire::AddressRule allowed_;
  const TlsFiles files_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace muster

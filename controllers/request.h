#pragma once

#include <drogon/HttpRequest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/access.h"
#include "controllers/rate_limits.h"
#include "models/ids.h"
#include "models/json/json_doc.h"
#include "models/result.h"
#include "models/time.h"
#include "models/version.h"

namespace muster {

struct Route;

// One request as the controllers see it: routed, allowed, within the limits. Lives until the
// answer is sent; the body stays where the framework put it.
struct Request {
  drogon::HttpRequestPtr raw;
  std::string id;                // X-Request-Id
  std::string_view path;         // as sent, still percent-encoded
  const Route* route = nullptr;  // null: its path or its method is not known
  Principal principal;
  std::string caller;  // callerText() of who sent it; empty: a worker with its own token
  bool is_in_audit = false;
  bool is_signed = false;  // its address says that it is: no token was asked for, nobody is known
  std::vector<std::pair<std::string_view, std::string>> path_values;  // {name} → decoded value
  mutable RateLevel rate;  // set by whoever counts it against a limit; absent: nobody did

  Request() = default;
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  std::string_view method() const;  // "GET"; empty: the framework does not know it
  const std::string& header(const std::string& lower_case_name) const;  // empty: not sent
  const std::string* headerIfSent(const std::string& lower_case_name) const;
  std::string_view body() const { return raw->body(); }
  std::string address() const { return raw->peerAddr().toIp(); }  // of the client
  bool clientIsThere() const;

  // kInvalidId when it is not a valid id.
  Result<std::string> pathId(std::string_view name) const;
  template <class IdType>
  Result<IdType> pathId(std::string_view name) const {
    auto text = pathId(name);
    if (!text) return tl::unexpected(std::move(text).error());
    return IdType(*std::move(text));
  }

  // What If-Match asks for, if it was sent; kInvalidHeader.
  Result<IfVersion> ifMatch() const;
};
using RequestPtr = std::shared_ptr<Request>;

// The body as JSON; an empty body and `null` count as {} when `optional`. The document points into
// the request's body.
Result<JsonDoc> parseBody(const Request& request, bool optional = false);

// For actions without fields: 422 unless the body is empty, `null` or an empty object.
Status checkNoBody(const Request& request);

// Reads query parameters and notes every fault; finish() gives 400 with all of them, unknown
// parameters too.
class QueryReader {
 public:
  explicit QueryReader(const Request& request);

  std::optional<std::string> text(std::string_view name, std::size_t max_bytes = 1024);
  std::vector<std::string> texts(std::string_view name);  // repeated or separated by commas
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  std::optional<double> number(std::string_view name, double min, double max);
  std::optional<bool> boolean(std::string_view name);
  std::optional<Time> time(std::string_view name);
  std::string id(std::string_view name);  // empty: not given
  int limit() { return static_cast<int>(integer("limit", 1, 200).value_or(50)); }

  void fault(std::string_view name, std::string detail);
  Status finish();

 private:
  struct Parameter {
    std::string name;
    std::string value;
    bool used = false;
  };
  std::vector<Parameter> parameters_;
  std::vector<FieldError> faults_;
};

// Whether it is ASCII without blanks and control characters.
bool isVisible(std::string_view text);

// %41 → A, and + → space where `form` is set; nothing when an escape is broken or hides a NUL.
std::optional<std::string> percentDecode(std::string_view text, bool form);

}  // namespace muster

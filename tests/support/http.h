#pragma once

#include <curl/curl.h>
#include <json/value.h>
#include <json/writer.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::test {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string path = {};  // sent as it is: nothing is escaped or normalised
  std::string body = {};
  Headers headers = {};  // application/json unless they name a content type
};

struct Reply {
  int status = 0;  // 0: there was no answer, `failure` says why
  std::string failure;
  Headers headers;  // names in lower case
  std::string body;
  Json::Value json;  // null when the body is not JSON

  bool ok() const { return status >= 200 && status < 300; }
  std::string header(std::string_view name) const;  // lower-case name; empty when absent
  bool hasHeader(std::string_view name) const;
  std::string code() const;  // of a problem; empty when it is none
  // The text of a member of the body's object, exactly as it was sent.
  std::string raw(const std::string& member) const;
};
std::ostream& operator<<(std::ostream& out, const Reply& reply);

// For https: whom to trust, and who we say we are; files in PEM. Empty: the machine's, and nobody.
struct HttpsFiles {
  std::string ca = {};
  std::string certificate = {};
  std::string key = {};
};

// One kept-alive connection; for one thread.
class Http {
 public:
  explicit Http(std::string url, HttpsFiles files = {});

  // The next request gets a connection of its own, which may resume the session of the last one.
  void reconnect() { reconnects_ = true; }
  // Of TLS, as curl counts them: CURL_SSLVERSION_MAX_…
  void limitTls(long version) { most_tls_ = version; }

  Reply send(const Request& request);
  Reply get(const std::string& path, Headers headers = {});
  Reply post(const std::string& path, std::string body = {}, Headers headers = {});
  Reply put(const std::string& path, std::string body, Headers headers = {});
  Reply patch(const std::string& path, std::string body, Headers headers = {});
  Reply del(const std::string& path, Headers headers = {});

  const std::string& url() const { return url_; }

 private:
  std::string url_;
  const HttpsFiles files_;
  bool reconnects_ = false;
  long most_tls_ = 0;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
};

// A request whose answer takes its time (a long poll, a stream). It moves only inside the calls.
class PendingReply {
 public:
  PendingReply(const std::string& url, const Request& request);
  ~PendingReply();
  PendingReply(const PendingReply&) = delete;
  PendingReply& operator=(const PendingReply&) = delete;

  bool finished(std::chrono::milliseconds deadline);
  // Until the part that has come fulfils `condition`, or the answer ends or the deadline passes.
  bool until(std::chrono::milliseconds deadline,
             const std::function<bool(const Reply&)>& condition);
  const Reply& reply() const;

 private:
  struct Transfer;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace muster::test

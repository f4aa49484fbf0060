#include "app/client/api_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cctype>
#include <new>
#include <stdexcept>

#include "app/client/json_fields.h"
#include "app/config/settings.h"

namespace muster {
namespace {

constexpr long kConnectTimeoutMs = 5000;

// Once for the process, before the first connection.
void prepareCurl() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (done != CURLE_OK) throw std::runtime_error("libcurl cannot be used");
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Exchange {
  CURL* handle = nullptr;
  ApiAnswer answer;
  std::function<bool(std::string_view)> on_bytes;  // empty: into the answer's body
  bool stopped = false;
};

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

std::size_t takeHeader(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) exchange.answer.headers.clear();  // an interim answer came before
  if (const auto colon = line.find(':'); colon != std::string_view::npos) {
    exchange.answer.headers[lowered(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return size * count;
}

std::size_t takeBody(char* data, std::size_t size, std::size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view bytes(data, size * count);
  long status = 0;
  curl_easy_getinfo(exchange.handle, CURLINFO_RESPONSE_CODE, &status);
  if (!exchange.on_bytes || status < 200 || status >= 300) {
    exchange.answer.body.append(bytes);
    return bytes.size();
  }
  exchange.stopped = !exchange.on_bytes(bytes);
  return exchange.stopped ? 0 : bytes.size();
}

int askGivenUp(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const ApiRequest*>(user)->given_up() ? 1 : 0;
}

Unreachable explain(CURLcode code, const char* detail, const ApiRequest& request) {
  if (code == CURLE_COULDNT_CONNECT) return {"nothing answers there", true};
  if (code == CURLE_ABORTED_BY_CALLBACK) return {"given up"};
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return {fmt::format("no answer to {} {} in time", request.method, request.path)};
  }
  return {detail[0] != '\0' ? detail : curl_easy_strerror(code)};
}

std::optional<Time> dateOf(const ApiAnswer& answer) {
  const auto found = answer.headers.find("date");
  if (found == answer.headers.end()) return std::nullopt;
  const time_t seconds = curl_getdate(found->second.c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return Time(Seconds(seconds));
}

// A proxy of the environment cannot reach what only this machine can.
bool isLoopbackUrl(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return false;
  char* host = nullptr;
  if (curl_url_get(parsed.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK) return false;
  std::string name(host);
  curl_free(host);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return ListenAddress{name, 0}.isLoopback();
}

// Where a node that does not take the request says it is taken.
std::optional<std::string> leaderOf(const ApiAnswer& answer) {
  if (answer.status != 503) return std::nullopt;
  const auto problem = JsonAnswer::parse(answer.body);
  std::string url = problem ? textOf(problem->root(), "leader_url") : "";
  while (url.ends_with('/')) url.pop_back();
  return url.empty() ? std::nullopt : std::optional(std::move(url));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("._~-:").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

struct ApiClient::Connection {
  Connection() {
    prepareCurl();
    handle = curl_easy_init();
    if (handle == nullptr) throw std::bad_alloc();
  }
  ~Connection() { curl_easy_cleanup(handle); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs the request that the caller has finished setting up with limits of its own.
  tl::expected<ApiAnswer, Unreachable> run(const ApiRequest& request, const std::string& url,
                                           const std::string& token, Exchange& exchange);

  CURL* handle = nullptr;
};

tl::expected<ApiAnswer, Unreachable> ApiClient::Connection::run(const ApiRequest& request,
                                                                const std::string& url,
                                                                const std::string& token,
                                                                Exchange& exchange) {
  std::unique_ptr<curl_slist, FreeList> headers;
  const auto add = [&headers](const std::string& line) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  };
  if (!token.empty()) add("Authorization: Bearer " + token);
  add(request.body ? "Content-Type: application/json" : "Content-Type:");
  add("Expect:");  // no waiting for "100 Continue" before a large body
  for (const auto& [name, value] : request.headers) add(name + ": " + value);

  char detail[CURL_ERROR_SIZE] = "";
  const std::string target = url + request.path;
  exchange.handle = handle;
  curl_easy_setopt(handle, CURLOPT_URL, target.c_str());
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  if (isLoopbackUrl(url)) curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "muster/" MUSTER_VERSION);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, takeHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, takeBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &exchange);
  if (request.given_up) {
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, askGivenUp);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &request);
  }
  if (request.body || request.method == "POST") {
    const std::string_view body = request.body ? std::string_view(*request.body) : "";
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
  }
  const CURLcode code = curl_easy_perform(handle);
  if (code != CURLE_OK && !exchange.stopped) {
    return tl::unexpected(explain(code, detail, request));
  }
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  exchange.answer.status = static_cast<int>(status);
  exchange.answer.date = dateOf(exchange.answer);
  return std::move(exchange.answer);
}

ApiClient::ApiClient(std::string url, std::string token)
    : url_(std::move(url)), token_(std::move(token)), connection_(std::make_unique<Connection>()) {
  while (url_.ends_with('/')) url_.pop_back();
}

ApiClient::~ApiClient() = default;

tl::expected<ApiAnswer, Unreachable> ApiClient::send(const ApiRequest& request) {
  auto answer = sendTo(leader_url_.empty() ? url_ : leader_url_, request);
  if (!answer) {
    leader_url_.clear();
    return answer;
  }
  const std::string sent_to = leader_url_;
  leader_url_ = leaderOf(*answer).value_or(sent_to);
  if (leader_url_.empty() || leader_url_ == sent_to) return answer;
  answer = sendTo(leader_url_, request);
  if (!answer) leader_url_.clear();
  return answer;
}

tl::expected<ApiAnswer, Unreachable> ApiClient::sendTo(const std::string& url,
                                                       const ApiRequest& request) {
  curl_easy_reset(connection_->handle);
  curl_easy_setopt(connection_->handle, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(request.timeout.count()));
  Exchange exchange;
  return connection_->run(request, url, token_, exchange);
}

tl::expected<ApiAnswer, Unreachable> ApiClient::stream(
    const ApiRequest& request, Seconds silence, std::function<bool(std::string_view)> on_bytes) {
  curl_easy_reset(connection_->handle);
  curl_easy_setopt(connection_->handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(connection_->handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(silence.count()));
  Exchange exchange;
  exchange.on_bytes = std::move(on_bytes);
  return connection_->run(request, url_, token_, exchange);
}

std::string apiPath(const std::vector<std::string>& parts) {
  std::string path;
  for (const auto& part : parts) path += "/" + escaped(part);
  return path;
}

std::string apiQuery(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    query += (query.empty() ? "?" : "&") + name + "=" + escaped(value);
  }
  return query;
}

}  // namespace muster

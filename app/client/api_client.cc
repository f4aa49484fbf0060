#include "app/client/api_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/client/json_fields.h"

namespace muster {
namespace {

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

// Where a node that does not take the request says it is taken; "" when it does not say.
std::string leaderOf(const HttpAnswer& answer) {
  if (answer.status != 503) return {};
  const auto problem = JsonAnswer::parse(answer.body);
  std::string url = problem ? textOf(problem->root(), "leader_url") : "";
  while (url.ends_with('/')) url.pop_back();
  return url;
}

bool isSamePlace(const HttpUrl& one, const HttpUrl& other) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return one.tls == other.tls && one.port == other.port &&
         std::equal(one.host.begin(), one.host.end(), other.host.begin(), other.host.end(), same);
}

tl::expected<HttpAnswer, Unreachable> withAdvice(tl::expected<HttpAnswer, Unreachable> answer) {
  if (!answer && answer.error().untrusted) {
    answer.error().what +=
        "; set MUSTER_CA (or --ca) to its certificate, or to that of the authority that signed it";
  }
  return answer;
}

Unreachable notAUrl() { return {"that is not a URL like http://127.0.0.1:8080"}; }

}  // namespace

bool isTrustedNode(const HttpUrl& own, const HttpUrl& other, std::string_view nodes) {
  if (isSamePlace(own, other)) return true;
  if (nodes == "*") return other.tls || !own.tls;
  while (!nodes.empty()) {
    const auto comma = std::min(nodes.find(','), nodes.size());
    std::string_view text = nodes.substr(0, comma);
    nodes.remove_prefix(std::min(comma + 1, nodes.size()));
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    const auto node = parseHttpUrl(text);
    if (node && isSamePlace(*node, other)) return true;
  }
  return false;
}

ApiClient::ApiClient(std::string url, std::string token, ServiceTrust trust)
    : url_(std::move(url)), token_(std::move(token)), trust_(std::move(trust)) {
  while (url_.ends_with('/')) url_.pop_back();
  if (auto place = parseHttpUrl(url_)) {
    http_.emplace(*std::move(place), Wire::AddressRule(), trust_.files);
  }
}

bool ApiClient::mayFollow(const HttpUrl& leader) const {
  const auto own = parseHttpUrl(url_);
  return token_.empty() || (own && isTrustedNode(*own, leader, trust_.nodes));
}

HttpRequest ApiClient::complete(HttpRequest request) const {
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  const auto is_type = [](const auto& header) { return header.first == "Content-Type"; };
  if (request.body && std::none_of(request.headers.begin(), request.headers.end(), is_type)) {
    request.headers.emplace_back("Content-Type", "application/json");
  }
  return request;
}

tl::expected<HttpAnswer, Unreachable> ApiClient::send(HttpRequest request) {
  auto answer = sendToService(request);
  if (!answer || answer->status != 307 || request.method != "GET") return answer;
  const auto location = answer->headers.find("location");
  auto place = parseHttpUrl(location == answer->headers.end() ? "" : location->second);
  if (!place || (!place->tls && url_.starts_with("https"))) return answer;
  request.path = std::exchange(place->path, "");
  return withAdvice(HttpClient(*place, Wire::AddressRule(), trust_.files).send(request));
}

tl::expected<HttpAnswer, Unreachable> ApiClient::sendToService(HttpRequest request) {
  if (!http_) return tl::unexpected(notAUrl());
  request = complete(std::move(request));
  auto answer = leader_ ? leader_->send(request) : http_->send(request);
  if (!answer) {
    leader_.reset();
    return withAdvice(std::move(answer));
  }
  const std::string url = leaderOf(*answer);
  const auto place = leader_ && url == leader_url_ ? std::nullopt : parseHttpUrl(url);
  if (!place || !mayFollow(*place)) return answer;
  leader_.emplace(*place, Wire::AddressRule(), trust_.files);
  leader_url_ = url;
  answer = leader_->send(request);
  if (!answer) leader_.reset();
  return withAdvice(std::move(answer));
}

tl::expected<HttpAnswer, Unreachable> ApiClient::stream(
    HttpRequest request, Seconds silence, const std::function<bool(std::string_view)>& on_bytes) {
  if (!http_) return tl::unexpected(notAUrl());
  return withAdvice(http_->stream(complete(std::move(request)), silence, on_bytes));
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

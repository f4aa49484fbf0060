#include "app/client/api_client.h"

#include <fmt/format.h>

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

Unreachable notAUrl() { return {"that is not a URL like http://127.0.0.1:8080"}; }

}  // namespace

ApiClient::ApiClient(std::string url, std::string token)
    : url_(std::move(url)), token_(std::move(token)) {
  while (url_.ends_with('/')) url_.pop_back();
  if (auto place = parseHttpUrl(url_)) http_.emplace(*std::move(place));
}

HttpRequest ApiClient::complete(HttpRequest request) const {
  if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
  if (request.body) request.headers.emplace_back("Content-Type", "application/json");
  return request;
}

tl::expected<HttpAnswer, Unreachable> ApiClient::send(HttpRequest request) {
  if (!http_) return tl::unexpected(notAUrl());
  request = complete(std::move(request));
  auto answer = leader_ ? leader_->send(request) : http_->send(request);
  if (!answer) {
    leader_.reset();
    return answer;
  }
  const std::string url = leaderOf(*answer);
  const auto place = leader_ && url == leader_url_ ? std::nullopt : parseHttpUrl(url);
  if (!place) return answer;
  leader_.emplace(*place);
  leader_url_ = url;
  answer = leader_->send(request);
  if (!answer) leader_.reset();
  return answer;
}

tl::expected<HttpAnswer, Unreachable> ApiClient::stream(
    HttpRequest request, Seconds silence, const std::function<bool(std::string_view)>& on_bytes) {
  if (!http_) return tl::unexpected(notAUrl());
  return http_->stream(complete(std::move(request)), silence, on_bytes);
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

#include "app/http/http_url.h"

#include <algorithm>
#include <charconv>

namespace muster {
namespace {

// The host at the start of `text`, which is shortened by it.
std::optional<std::string> takeHost(std::string_view& text) {
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) return std::nullopt;
  std::string host(bracketed ? text.substr(1, end - 1) : text.substr(0, end));
  text.remove_prefix(bracketed ? end + 1 : end);
  if (host.empty()) return std::nullopt;
  return host;
}

}  // namespace

std::string HttpUrl::authority() const {
  std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) name += ":" + std::to_string(port);
  return name;
}

std::optional<HttpUrl> parseHttpUrl(std::string_view text) {
  const auto visible = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; };
  if (!std::all_of(text.begin(), text.end(), visible)) return std::nullopt;
  HttpUrl url;
  url.tls = text.starts_with("https://");
  if (!url.tls && !text.starts_with("http://")) return std::nullopt;
  url.port = url.tls ? 443 : 80;
  text.remove_prefix(url.tls ? 8 : 7);
  text = text.substr(0, text.find('#'));
  std::string_view place = text.substr(0, text.find_first_of("/?"));
  url.path = text.substr(place.size());
  if (place.find('@') != std::string_view::npos) return std::nullopt;
  auto host = takeHost(place);
  if (!host) return std::nullopt;
  url.host = *std::move(host);
  if (place.empty()) return url;
  const auto [end, error] =
      std::from_chars(place.data() + 1, place.data() + place.size(), url.port);
  const bool whole = place.front() == ':' && end == place.data() + place.size();
  if (!whole || error != std::errc() || url.port == 0) return std::nullopt;
  return url;
}

}  // namespace muster

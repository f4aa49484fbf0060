#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// Where requests go to: http://127.0.0.1:8080, https://muster.example.org/behind/a/proxy
struct HttpUrl {
  bool tls = false;
  std::string host;  // an IPv6 address stands here without its brackets
  std::uint16_t port = 80;
  std::string path;  // with its query; may be empty

  // As the Host header wants it: without the port that the scheme implies.
  std::string authority() const;
};

// Nothing when it is not a URL of http or https with a host, or holds blanks or control characters.
std::optional<HttpUrl> parseHttpUrl(std::string_view text);

}  // namespace muster

#include "models/store_url.h"

#include <algorithm>
#include <vector>

namespace muster {
namespace {

struct TextPart {
  std::size_t from;
  std::size_t size;
};

// Where passwords stand in the URL, in order.
std::vector<TextPart> passwordsIn(std::string_view url) {
  std::vector<TextPart> parts;
  if (!isPostgres(url)) return parts;
  const std::size_t user = url.find("://") + 3;
  const std::size_t at = url.substr(0, url.find_first_of("/?", user)).rfind('@');
  const std::size_t colon = url.find(':', user);
  if (at != std::string_view::npos && colon < at) parts.push_back({colon + 1, at - colon - 1});
  constexpr std::string_view kParameter = "password=";
  for (std::size_t from = url.find(kParameter); from != std::string_view::npos;) {
    from += kParameter.size();
    const std::size_t end = std::min(url.find('&', from), url.size());
    parts.push_back({from, end - from});
    from = url.find(kParameter, end);
  }
  return parts;
}

}  // namespace

bool isPostgres(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

std::string withoutPassword(const std::string& url) {
  std::string shown = url;
  const auto parts = passwordsIn(url);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    shown.replace(part->from, part->size, "***");
  }
  return shown;
}

std::string coverPassword(std::string url) {
  for (const TextPart& part : passwordsIn(url)) url.replace(part.from, part.size, part.size, '*');
  return url;
}

tl::expected<std::string, std::string> sqlitePath(const std::string& url) {
  if (url == "memory:") return ":memory:";
  constexpr std::string_view kScheme = "sqlite:";
  if (url.starts_with(kScheme) && url.size() > kScheme.size()) return url.substr(kScheme.size());
  return tl::unexpected("the store '" + url +
                        "' is not known; use sqlite:PATH, memory: or postgresql://HOST/DATABASE");
}

}  // namespace muster

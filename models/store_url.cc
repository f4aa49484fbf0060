#include "models/store_url.h"

#include <algorithm>

namespace muster {

bool isPostgres(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

std::string withoutPassword(const std::string& url) {
  if (!isPostgres(url)) return url;
  std::string shown = url;
  const std::size_t user = shown.find("://") + 3;
  const std::size_t at = shown.substr(0, shown.find_first_of("/?", user)).rfind('@');
  const std::size_t colon = shown.find(':', user);
  if (at != std::string::npos && colon < at) shown.replace(colon, at - colon, ":***");
  constexpr std::string_view kParameter = "password=";
  for (std::size_t from = shown.find(kParameter); from != std::string::npos;) {
    from += kParameter.size();
    shown.replace(from, std::min(shown.find('&', from), shown.size()) - from, "***");
    from = shown.find(kParameter, from);
  }
  return shown;
}

tl::expected<std::string, std::string> sqlitePath(const std::string& url) {
  if (url == "memory:") return ":memory:";
  constexpr std::string_view kScheme = "sqlite:";
  if (url.starts_with(kScheme) && url.size() > kScheme.size()) return url.substr(kScheme.size());
  return tl::unexpected("the store '" + url +
                        "' is not known; use sqlite:PATH, memory: or postgresql://HOST/DATABASE");
}

}  // namespace muster

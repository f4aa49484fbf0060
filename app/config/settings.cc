#include "app/config/settings.h"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kScopeNames = {"read", "produce", "work", "admin"};

}  // namespace

std::string_view scopeName(Scope scope) { return kScopeNames[static_cast<std::size_t>(scope)]; }

std::optional<Scope> parseScope(std::string_view name) {
  const auto found = std::find(kScopeNames.begin(), kScopeNames.end(), name);
  if (found == kScopeNames.end()) return std::nullopt;
  return static_cast<Scope>(found - kScopeNames.begin());
}

bool ListenAddress::isLoopback() const {
  if (host == "localhost" || host == "::1") return true;
  const bool numeric = host.find_first_not_of("0123456789.") == std::string::npos;
  return numeric && host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3;
}

}  // namespace muster

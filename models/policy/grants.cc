#include "models/policy/grants.h"

#include <algorithm>
#include <array>

#include "models/ids.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kScopeNames = {"read", "produce", "work", "admin"};

bool covers(const Grant& grant, Scope scope) {
  return grant.scope == scope || grant.scope == Scope::kAdmin;
}

bool namesPool(std::string_view pattern, std::string_view pool) {
  if (pattern.empty()) return true;
  if (!pattern.ends_with('*')) return pattern == pool;
  return !pool.empty() && pool.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

std::string_view scopeName(Scope scope) { return kScopeNames[static_cast<std::size_t>(scope)]; }

std::optional<Scope> parseScope(std::string_view name) {
  const auto found = std::find(kScopeNames.begin(), kScopeNames.end(), name);
  if (found == kScopeNames.end()) return std::nullopt;
  return static_cast<Scope>(found - kScopeNames.begin());
}

std::optional<Grant> parseGrant(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto scope = parseScope(text.substr(0, colon));
  if (!scope) return std::nullopt;
  if (colon == std::string_view::npos) return Grant{*scope};
  const std::string_view pools = text.substr(colon + 1);
  const std::string_view name = pools.ends_with('*') ? pools.substr(0, pools.size() - 1) : pools;
  if (!isValidId(name)) return std::nullopt;
  return Grant{*scope, std::string(pools)};
}

std::string grantText(const Grant& grant) {
  std::string text(scopeName(grant.scope));
  return grant.pools.empty() ? text : text + ":" + grant.pools;
}

bool permitsIn(const Grants& grants, Scope scope, std::string_view pool) {
  return std::any_of(grants.begin(), grants.end(), [&](const Grant& grant) {
    return covers(grant, scope) && namesPool(grant.pools, pool);
  });
}

bool permitsEverywhere(const Grants& grants, Scope scope) {
  return std::any_of(grants.begin(), grants.end(), [&](const Grant& grant) {
    return covers(grant, scope) && grant.pools.empty();
  });
}

bool permitsSomewhere(const Grants& grants, Scope scope) {
  return std::any_of(grants.begin(), grants.end(),
                     [&](const Grant& grant) { return covers(grant, scope); });
}

}  // namespace muster

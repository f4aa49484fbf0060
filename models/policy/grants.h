#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// What a request may do. kAdmin allows what the others allow.
enum class Scope { kRead, kProduce, kWork, kAdmin };

std::string_view scopeName(Scope scope);
std::optional<Scope> parseScope(std::string_view name);

// A scope, and the pools that it is given for: "read", "produce:emails", "admin:team.*".
struct Grant {
  Scope scope = Scope::kRead;
  std::string pools = {};  // a pool, or the beginning of its name and a *; empty: everywhere

  bool operator==(const Grant&) const = default;
};
using Grants = std::vector<Grant>;

std::optional<Grant> parseGrant(std::string_view text);
std::string grantText(const Grant& grant);

// Whether the scope is given for this pool. A pool without a name is in no grant for pools.
bool permitsIn(const Grants& grants, Scope scope, std::string_view pool);
// Whether it is given for everything, also for what belongs to no pool.
bool permitsEverywhere(const Grants& grants, Scope scope);
// Whether it is given for any pool at all.
bool permitsSomewhere(const Grants& grants, Scope scope);

}  // namespace muster

#include "controllers/resource_access.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/router.h"
#include "models/json/resource_json.h"

namespace muster {
namespace {

std::string valueIn(const Request& request, std::string_view parameter) {
  for (const auto& [name, value] : request.path_values) {
    if (name == parameter) return value;
  }
  return {};
}

tl::unexpected<Error> invalidName(std::string_view parameter, std::string_view expected) {
  return tl::unexpected(Error{ErrorCode::kInvalidId,
                              fmt::format("{} must be {}", parameter, expected),
                              {{std::string(parameter), "format", "is not valid"}}});
}

}  // namespace

Status checkMayUse(const Request& request, std::initializer_list<Scope> scopes) {
  const Principal& who = request.principal;
  const auto has = [&](auto may) { return std::any_of(scopes.begin(), scopes.end(), may); };
  if (!who.worker.empty()) {
    if (has([](Scope scope) { return scope == Scope::kWork; })) return {};
    return fail(ErrorCode::kForbidden, "a worker's own token does not allow this");
  }
  if (has([&](Scope scope) { return who.mayEverywhere(scope); })) return {};
  if (has([&](Scope scope) { return who.maySomewhere(scope); })) {
    return fail(ErrorCode::kForbidden,
                "the token is for some pools only, and resources are not of one pool");
  }
  return missingScope(*scopes.begin());
}

ResourceCaller resourceCallerOf(const Request& request) {
  const Principal& who = request.principal;
  return {.worker = who.worker, .is_admin = who.mayEverywhere(Scope::kAdmin)};
}

Result<ResourceName> resourceIn(const Request& request) {
  std::string name = valueIn(request, "resource");
  const bool is_uid = name.starts_with(kUidPrefix) && isValidId(name);
  if (is_uid || isResourceId(name)) return name;
  return invalidName("resource", "a uid, or an id of letters, digits and ._~:/-, percent-encoded");
}

Result<std::string> slashedNameIn(const Request& request, std::string_view parameter) {
  std::string name = valueIn(request, parameter);
  if (isSlashedName(name)) return name;
  return invalidName(parameter,
                     "1 to 256 letters, digits and ._~:/-, percent-encoded, without an empty, . "
                     "or .. between slashes");
}

Outcome resourceReply(const Result<Resource>& resource, Store& store, int status) {
  if (!resource) return tl::unexpected(resource.error());
  JsonWriter out;
  writeResource(out, *resource, store.rules().resources.part_bytes);
  return Reply::json(status, std::move(out));
}

}  // namespace muster

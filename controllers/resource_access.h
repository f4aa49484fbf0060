#pragma once

#include <initializer_list>
#include <string_view>

#include "controllers/reply.h"
#include "controllers/request.h"
#include "models/operations/resources.h"

namespace muster {

// Whether the token may do this with resources: it has one of the scopes, and not for some pools
// only. A worker's own token may if `work` is among them; what it may see then the store knows.
Status checkMayUse(const Request& request, std::initializer_list<Scope> scopes);

ResourceCaller resourceCallerOf(const Request& request);

// The resource in the path; kInvalidId when it is neither a uid nor an id.
Result<ResourceName> resourceIn(const Request& request);
// A name, or a scope, in the path; likewise.
Result<std::string> slashedNameIn(const Request& request, std::string_view parameter);

Outcome resourceReply(const Result<Resource>& resource, Store& store, int status = 200);

}  // namespace muster

#pragma once

#include "controllers/access.h"
#include "controllers/request.h"

namespace muster {

// On whose behalf the request is made: by its token, or else by the certificate that its connection
// has shown. kUnauthorized.
Result<Principal> callerOf(const Request& request, const Access& access);

}  // namespace muster

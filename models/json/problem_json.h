#pragma once

#include <string>
#include <string_view>

#include "models/result.h"

namespace muster {

// The error as application/problem+json (RFC 9457). `instance` is the path of the request.
std::string writeProblem(const Error& error, std::string_view instance,
                         std::string_view request_id);

}  // namespace muster

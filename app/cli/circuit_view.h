#pragma once

#include <string>

#include "app/client/json_fields.h"

namespace muster {

// "circuit open" or "circuit probing" while the pool gives out no jobs because of it, else "".
std::string circuitText(JsonValue pool);

}  // namespace muster

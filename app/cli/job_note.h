#pragma once

#include <optional>
#include <string>

#include "app/client/json_fields.h"

namespace muster {

// What matters most about a job besides its status: who holds it, what it waits for, how long it
// took, or why it ended.
std::string jobNote(JsonValue job, const std::optional<Time>& now);

}  // namespace muster

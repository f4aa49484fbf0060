#pragma once

#include <optional>
#include <string_view>

#include "models/json/json_doc.h"

namespace muster {

// The value a JSON pointer (RFC 6901) leads to; nothing when there is none. Of several members
// with one name it is the last.
std::optional<JsonValue> valueAt(JsonValue root, std::string_view pointer);

}  // namespace muster

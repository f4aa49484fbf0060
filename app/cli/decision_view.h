#pragma once

#include <optional>
#include <string>

#include "app/cli/table.h"
#include "app/client/json_fields.h"

namespace muster {

// A decision of the checker for people: the sentence, then what it went by, side by side with the
// limits; the limit that bound is marked. Then the jobs that cannot be placed, if there are any.
std::string decisionText(JsonValue decision, std::size_t width, bool color);

// An explanation of adaptive mode: the sentence, what it comes to, what speaks for more workers and
// what against fewer, and the settings it went by.
std::string adaptiveText(JsonValue explanation, bool color);

// One line each: when, why it was looked at, what came of it.
Table decisionTable(const std::vector<JsonValue>& decisions);

// One line for each pool.
Table checkedPoolsTable(const std::vector<JsonValue>& decisions);

}  // namespace muster

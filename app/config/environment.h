#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings.h"

namespace muster {

// The environment of this process as it is now.
Environment ownEnvironment();

// Whether the text can name variables that pass to workers: NAME, or PREFIX* for all whose names
// begin so. Names that begin with MUSTER_ are the service's own, and cannot be named.
bool isVariablePattern(std::string_view text);

// The variables of `own` that a pattern names. Those that begin with MUSTER_ are never among them.
Environment passedVariables(const Environment& own, const std::vector<std::string>& patterns);

}  // namespace muster

#pragma once

#include <string>
#include <vector>

#include "models/result.h"

namespace muster {

// The body of an explanation from words like queue_depth=100, each put where it belongs. kInvalid
// names every word that is none.
Result<std::string> readExplainFigures(const std::vector<std::string>& words);

}  // namespace muster

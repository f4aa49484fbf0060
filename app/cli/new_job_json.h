#pragma once

#include <string>
#include <string_view>

#include "app/cli/commands.h"
#include "models/result.h"

namespace muster {

// The body of a job with `data` in it as it was written. An error says where `data` is not JSON.
Result<std::string> newJobJson(const PushCommand& command, std::string_view data);

}  // namespace muster

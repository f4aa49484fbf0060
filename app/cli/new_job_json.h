#pragma once

#include <string>
#include <string_view>

#include "app/cli/commands.h"
#include "app/cli/flow_options.h"
#include "models/result.h"

namespace muster {

// The body of a job with `data` in it as it was written. An error says where `data` is not JSON.
Result<std::string> newJobJson(const NewJobOptions& options, std::string_view data);

// The same of a job in a flow.
Result<std::string> newFlowJobJson(const FlowAddCommand& command, std::string_view data);

// A name for a job without one: the same for the same pool and data, in every version of this
// program. `data` is JSON without white space around it.
std::string flowJobName(std::string_view pool, std::string_view data);

}  // namespace muster

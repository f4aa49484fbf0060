#pragma once

#include <string>
#include <vector>

#include "app/cli/commands.h"

namespace muster {

// The whole program: understands the arguments, runs the command, answers the exit code.
int runMuster(const std::vector<std::string>& args, const Environment& env);

}  // namespace muster

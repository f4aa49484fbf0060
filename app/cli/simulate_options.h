#pragma once

#include "app/cli/commands.h"

namespace CLI {
class App;
}

namespace muster {

// What is parsed goes into `options`.
void addSimulateOptions(CLI::App& app, SimulateCommand& options);

}  // namespace muster

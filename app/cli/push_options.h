#pragma once

#include "app/cli/commands.h"

namespace CLI {
class App;
}

namespace muster {

// What is parsed goes into `options`.
void addPushOptions(CLI::App& app, PushCommand& options);
// What every command that makes jobs takes.
void addNewJobOptions(CLI::App& app, NewJobOptions& options);

}  // namespace muster

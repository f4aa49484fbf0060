#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cli/commands.h"

namespace muster {

// How the commands are done that need the server or the store.
struct ServiceCommands {
  std::function<int(const ServeCommand&, const Environment&, Terminal&)> serve;
  std::function<int(const MigrateCommand&, const Environment&, Terminal&)> migrate;
};

// The whole program: understands the arguments, runs the command, answers the exit code.
int runMuster(int argc, char** argv, const ServiceCommands& service);

}  // namespace muster

#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "app/cli/commands.h"

namespace muster {

// What needs the server, the store or OpenSSL, which `muster` itself does without.
using ServiceCommand =
    std::variant<ServeCommand, MigrateCommand, CopyCommand, DoctorCommand, TokenCommand>;
using RunService = std::function<int(const ServiceCommand&, const Environment&, Terminal&)>;

// The whole program: understands the arguments, runs the command, answers the exit code.
int runMuster(const std::vector<std::string>& args, const RunService& service);

}  // namespace muster

#pragma once

#include <memory>
#include <string>

#include "app/cli/command_line.h"

namespace CLI {
class App;
}

namespace muster {

// The parser of the commands and their options; what it parses goes into `line`. Knows all
// commands, or those in one group with `first` if that is a command's name: the start of a worker
// should not pay for the options of all the others.
std::unique_ptr<CLI::App> commandGrammar(CommandLine& line, const std::string& first);

}  // namespace muster

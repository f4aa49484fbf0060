#pragma once

#include <string>

namespace muster {

// The path of a program in the folder that the running one was started from.
std::string programBeside(const std::string& name);

}  // namespace muster

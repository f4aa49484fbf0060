#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "models/time.h"

namespace muster {

// Runs a program to its end: no shell, none of our files and sockets, no input, output thrown away.
// It is killed after `at_most`, or when it is asked to stop. Nothing when it ended with 0, else how
// it ended.
std::optional<std::string> runProgram(const std::vector<std::string>& argv, Millis at_most,
                                      const std::stop_token& stop);

}  // namespace muster

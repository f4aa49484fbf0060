#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "app/launch/spawn.h"
#include "models/time.h"

namespace muster {

// Runs a program to its end, as spawn() starts it and with its output thrown away. It is killed
// after `at_most`, or when it is asked to stop, and its group with it. Nothing when it ended with
// 0, else how it ended.
std::optional<std::string> runProgram(const ProcessSpec& spec, Millis at_most,
                                      const std::stop_token& stop);

}  // namespace muster

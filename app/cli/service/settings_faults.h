#pragma once

#include "app/cli/commands.h"

namespace muster {

// Tells every fault with its place and answers the exit code.
int refuseSettings(const Error& error, Terminal& terminal);

void warnAboutSettings(const Settings& settings, Terminal& terminal);

}  // namespace muster

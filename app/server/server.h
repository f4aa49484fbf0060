#pragma once

#include "app/config/settings.h"

namespace muster {

// Serves until SIGTERM or SIGINT. The exit code: 0 after a graceful stop, 2 when the settings do
// not allow a start, 1 when something broke.
int runServer(const Settings& settings);

}  // namespace muster

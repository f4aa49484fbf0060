#pragma once

#include <functional>

#include "app/config/settings.h"

namespace muster {

// Reads the settings again, from where they came at the start.
using ReadSettings = std::function<Result<Settings>()>;

// Serves until SIGTERM or SIGINT. SIGHUP has tokens and templates read again. The exit code: 0
// after a graceful stop, 2 when the settings do not allow a start, 1 when something broke.
int runServer(const Settings& settings, const ReadSettings& read_again);

}  // namespace muster

#pragma once

#include "app/cli/commands.h"

namespace CLI {
class App;
}

namespace muster {

// Which jobs `muster pools retry` and `purge` are about; what is parsed goes into `options`.
void addPoolBulkOptions(CLI::App& app, PoolBulkCommand& options);

}  // namespace muster

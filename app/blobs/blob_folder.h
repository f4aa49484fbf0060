#pragma once

#include <string>

#include "app/config/settings.h"

namespace muster {

// Where the blobs of a service with these settings are; empty: in a folder of its own that goes
// with it, since its store does too.
std::string blobFolder(const Settings& settings);

}  // namespace muster

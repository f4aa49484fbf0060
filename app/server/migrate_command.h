#pragma once

#include <string>

namespace muster {

// Brings the store's schema up to date, or only says what would be done. The exit code.
int runMigrate(const std::string& store_url, bool dry_run);

}  // namespace muster

#include "app/cli/service/settings_faults.h"

#include <fmt/format.h>

#include <ostream>

#include "app/cli/table.h"

namespace muster {

int refuseSettings(const Error& error, Terminal& terminal) {
  for (const auto& fault : error.fields) {
    terminal.err << fmt::format("{}: {}\n", printable(fault.pointer), printable(fault.detail));
  }
  terminal.err << error.detail << "\n";
  return kExitUsage;
}

void warnAboutSettings(const Settings& settings, Terminal& terminal) {
  for (const auto& warning : settings.warnings) {
    terminal.err << "warning: " << printable(warning) << "\n";
  }
}

}  // namespace muster

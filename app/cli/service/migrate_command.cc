#include "app/server/migrate_command.h"

#include "app/cli/service/settings_faults.h"

namespace muster {

int run(const MigrateCommand& command, const Environment& env, Terminal& terminal) {
  const auto settings = loadSettings(command.overrides, env);
  if (!settings) return refuseSettings(settings.error(), terminal);
  return runMigrate(settings->store, command.dry_run);
}

}  // namespace muster

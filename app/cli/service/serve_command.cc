#include "app/cli/service/settings_faults.h"
#include "app/server/server.h"

namespace muster {

int run(const ServeCommand& command, const Environment& env, Terminal& terminal) {
  const auto settings = loadSettings(command.overrides, env);
  if (!settings) return refuseSettings(settings.error(), terminal);
  warnAboutSettings(*settings, terminal);
  return runServer(*settings, [&command, &env] { return loadSettings(command.overrides, env); });
}

}  // namespace muster

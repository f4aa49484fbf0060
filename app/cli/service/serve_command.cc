#include <fmt/format.h>

#include "app/cli/service/settings_faults.h"
#include "app/launch/worker_process.h"
#include "app/server/server.h"

namespace muster {

int run(const ServeCommand& command, const Environment& env, Terminal& terminal) {
  const auto settings = loadSettings(command.overrides, env);
  if (!settings) return refuseSettings(settings.error(), terminal);
  if (auto faults = templatesWithoutTheirUser(*settings); !faults.empty()) {
    const auto count = faults.size();
    const std::string what = fmt::format("{} template{} cannot run", count, count == 1 ? "" : "s");
    return refuseSettings({ErrorCode::kInvalid, what, std::move(faults)}, terminal);
  }
  warnAboutSettings(*settings, terminal);
  return runServer(*settings, [&command, &env] { return loadSettings(command.overrides, env); });
}

}  // namespace muster

#include <fmt/format.h>

#include "app/cli/service/settings_faults.h"
#include "app/launch/worker_process.h"
#include "app/server/server.h"

namespace muster {
namespace {

// What a service can run with, at its start as at a reload.
Result<Settings> usableSettings(const ServeCommand& command, const Environment& env) {
  auto settings = loadSettings(command.overrides, env);
  if (!settings) return settings;
  auto faults = templatesWithoutTheirUser(*settings);
  if (faults.empty()) return settings;
  const auto count = faults.size();
  return tl::unexpected(Error{ErrorCode::kInvalid,
                              fmt::format("{} template{} cannot run", count, count == 1 ? "" : "s"),
                              std::move(faults)});
}

}  // namespace

int run(const ServeCommand& command, const Environment& env, Terminal& terminal) {
  const auto settings = usableSettings(command, env);
  if (!settings) return refuseSettings(settings.error(), terminal);
  warnAboutSettings(*settings, terminal);
  return runServer(*settings, [&command, &env] { return usableSettings(command, env); });
}

}  // namespace muster

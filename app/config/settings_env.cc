#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/config/closest_name.h"
#include "app/config/settings_sources.h"

namespace muster {
namespace {

constexpr std::string_view kPrefix = "MUSTER_";

// Variables with our prefix that are not settings of the service: they are for the client
// commands, for workers, for the build, or put there by Kubernetes for a service named muster.
bool isNotForUs(std::string_view variable) {
  constexpr std::array<std::string_view, 15> kOthers = {"MUSTER_URL",
                                                        "MUSTER_TOKEN",
                                                        "MUSTER_POOL_ID",
                                                        "MUSTER_WORKER_ID",
                                                        "MUSTER_LAUNCH_TOKEN",
                                                        "MUSTER_WORKER_TOKEN",
                                                        "MUSTER_DEPS",
                                                        "MUSTER_BINARY",
                                                        "MUSTER_CA",
                                                        "MUSTER_NODES",
                                                        "MUSTER_CLIENT_CERT",
                                                        "MUSTER_CLIENT_KEY",
                                                        "MUSTER_DATA_DIR",
                                                        "MUSTER_RESOURCE_DEFAULT_TTL_SECONDS",
                                                        "MUSTER_INLINE_RESULT_LIMIT_BYTES"};
  for (const auto other : kOthers) {
    if (variable == other) return true;
  }
  return variable.starts_with("MUSTER_PORT") || variable.starts_with("MUSTER_SERVICE_");
}

void warnAboutUnknown(const Environment& env, SettingsDraft& draft) {
  std::vector<std::string> known;
  for (const auto& row : settingTable()) known.push_back(row.environment());
  for (auto it = env.lower_bound(std::string(kPrefix));
       it != env.end() && it->first.starts_with(kPrefix); ++it) {
    const std::string& variable = it->first;
    if (isNotForUs(variable) || std::find(known.begin(), known.end(), variable) != known.end()) {
      continue;
    }
    draft.settings.warnings.push_back(fmt::format("environment variable {} is no setting{}",
                                                  variable, suggestion(variable, known)));
  }
}

}  // namespace

void readEnvironmentSettings(const Environment& env, SettingsDraft& draft) {
  for (const auto& row : settingTable()) {
    // The name with the prefix is read last: it is meant for us, the bare one may not be.
    for (const std::string& variable : {std::string(row.bare_name), row.environment()}) {
      const auto found = env.find(variable);
      if (found == env.end() || found->second.empty()) continue;
      draft.set(row, found->second, variable);
    }
  }
  warnAboutUnknown(env, draft);
}

void readFlagSettings(const Overrides& flags, SettingsDraft& draft) {
  for (const auto& [name, value] : flags.values) {
    if (const SettingRow* row = findSetting(name)) {
      draft.set(*row, value, row->flag());
    } else {
      draft.addFault("--" + name, "is no setting");
    }
  }
}

}  // namespace muster

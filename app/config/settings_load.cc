#include "app/config/settings_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/config/yaml_tree.h"
#include "models/store_url.h"

namespace muster {
namespace {

constexpr const char* kDefaultFile = "muster.yml";

// At most one byte more than a file may have, which is enough to see that it is too large.
Result<std::string> readFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::kInvalid, "is a folder, expected a file");
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  std::string text(kMaxYamlBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return fail(ErrorCode::kInvalid, "cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

void readConfiguredFile(const Overrides& flags, SettingsDraft& draft) {
  const std::string path = flags.config_file.value_or(kDefaultFile);
  std::error_code ignored;
  if (!flags.config_file && !std::filesystem::exists(path, ignored)) return;
  if (auto text = readFile(path)) {
    readYamlSettings(path, *text, draft);
  } else {
    draft.addFault(path, text.error().detail);
  }
}

void readRegistryFile(SettingsDraft& draft) {
  const std::string path = draft.settings.trigger_registry;
  if (path.empty()) return;
  if (auto text = readFile(path)) {
    readTriggerRegistry(path, *text, draft);
  } else {
    draft.addFault(draft.placeOf("trigger_registry"),
                   fmt::format("trigger_registry {}: {}", path, text.error().detail));
  }
}

void warnAboutSecrets(const Environment& env, SettingsDraft& draft) {
  if (!draft.settings.triggers) return;
  for (const TriggerSpec& trigger : *draft.settings.triggers) {
    for (const std::string& secret : trigger.auth.secrets) {
      if (!secret.starts_with("env:") || env.contains(secret.substr(4))) continue;
      draft.settings.warnings.push_back(
          fmt::format("trigger {}: the environment variable {} of its secret is not set",
                      trigger.name, secret.substr(4)));
    }
  }
}

}  // namespace

std::string PlacesByPointer::placeOf(std::string pointer) const {
  while (true) {
    if (const auto found = places.find(pointer); found != places.end()) return found->second;
    if (pointer.empty()) return "";
    const auto slash = pointer.rfind('/');
    pointer.resize(slash == std::string::npos ? 0 : slash);
  }
}

void SettingsDraft::addFault(std::string place, std::string what) {
  faults.push_back({std::move(place), "invalid", std::move(what)});
}

void SettingsDraft::set(const SettingRow& row, std::string_view text, std::string place) {
  if (!row.read(text, settings)) {
    addFault(std::move(place),
             fmt::format("{} is \"{}\", expected {}", row.name, text.substr(0, 80), row.expected));
    return;
  }
  places[std::string(row.name)] = std::move(place);
}

std::string SettingsDraft::placeOf(std::string_view name) const {
  const auto found = places.find(name);
  return found == places.end() ? std::string(name) : found->second;
}

bool inCluster(const Settings& settings) {
  return settings.cluster != ClusterMode::kOff && isPostgres(settings.store);
}

std::vector<TriggerSpec> configuredTriggers(const Settings& settings) {
  auto triggers = settings.triggers ? *settings.triggers : defaultTriggers();
  const TriggerSpec hook = workAddedHook();
  const bool taken = std::any_of(triggers.begin(), triggers.end(), [&](const TriggerSpec& trigger) {
    return trigger.name == hook.name;
  });
  if (!taken) triggers.push_back(hook);
  return triggers;
}

Result<Settings> loadSettings(const Overrides& flags, const Environment& env) {
  SettingsDraft draft;
  readConfiguredFile(flags, draft);
  readEnvironmentSettings(env, draft);
  readFlagSettings(flags, draft);
  readRegistryFile(draft);
  checkSettings(draft);
  warnAboutSecrets(env, draft);
  if (draft.faults.empty()) return std::move(draft.settings);
  const auto count = draft.faults.size();
  return tl::unexpected(Error{
      ErrorCode::kInvalid, fmt::format("{} fault{} in the settings", count, count == 1 ? "" : "s"),
      std::move(draft.faults)});
}

}  // namespace muster

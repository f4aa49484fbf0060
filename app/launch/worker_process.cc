#include "app/launch/worker_process.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "app/config/environment.h"
#include "app/launch/become_user.h"
#include "models/json/json_writer.h"
#include "models/json/worker_json.h"
#include "models/store/random.h"
#include "models/store_url.h"

namespace muster {
namespace {

Environment workerEnvironment(const WorkerTemplate& made, const WorkerSurroundings& surroundings) {
  std::vector<std::string> patterns = surroundings.passed;
  patterns.insert(patterns.end(), made.pass_env.begin(), made.pass_env.end());
  Environment env = passedVariables(surroundings.environment, patterns);
  if (made.user) {
    // These would lead to folders of the service's user.
    std::erase_if(env, [](const auto& variable) { return variable.first.starts_with("XDG_"); });
    env["USER"] = env["LOGNAME"] = made.user->name;
    env["HOME"] = made.user->home;
    env["SHELL"] = made.user->shell;
  }
  for (const auto& [name, value] : made.env) env[name] = value;
  return env;
}

// Where the service keeps things beside its database; nothing for one in memory.
std::optional<std::filesystem::path> stateFolder(const Settings& settings) {
  if (isPostgres(settings.store)) {
    const char* const state = std::getenv("STATE_DIRECTORY");  // systemd sets it
    return std::filesystem::absolute(state != nullptr ? state : "data");
  }
  const auto path = sqlitePath(settings.store);
  if (!path || *path == ":memory:") return std::nullopt;
  return std::filesystem::absolute(*path).parent_path();
}

}  // namespace

std::vector<FieldError> templatesWithoutTheirUser(const Settings& settings) {
  std::vector<FieldError> faults;
  for (const auto& [name, made] : settings.templates) {
    if (!made.user) continue;
    if (auto why = obstacleToBecoming(*made.user)) {
      faults.push_back({"template " + name, "invalid", *std::move(why)});
    }
  }
  return faults;
}

void addTrust(const ServiceAddress& address, std::map<std::string, std::string>& env) {
  if (!address.certificate.empty()) env["MUSTER_CA"] = address.certificate;
  env["MUSTER_NODES"] = std::string(1, '*');  // g++ 12 warns of a literal
}

ProcessSpec workerProcess(const LaunchOrder& order, const WorkerTemplate& made,
                          const WorkerSurroundings& surroundings) {
  ProcessSpec spec;
  spec.name = order.worker.str();
  spec.cwd = made.cwd;
  spec.env = workerEnvironment(made, surroundings);
  spec.user = made.user;
  spec.env["MUSTER_URL"] = surroundings.service.url;
  ServiceAddress service = surroundings.service;
  if (made.user) service.certificate = service.certificate_of_settings;
  addTrust(service, spec.env);
  spec.env["MUSTER_POOL_ID"] = order.pool.str();
  spec.env["MUSTER_WORKER_ID"] = order.worker.str();
  spec.env["MUSTER_LAUNCH_TOKEN"] = order.token;
  spec.env["MUSTER_WORKER_TOKEN"] = surroundings.worker_token(order);
  const auto unless_set = [&](const char* name, const std::string& value) {
    if (!value.empty()) spec.env.emplace(name, value);
  };
  unless_set("MUSTER_HOST_NAME", surroundings.host);
  // Another user cannot look into our folder.
  if (!made.user) unless_set("MUSTER_DATA_DIR", surroundings.host_folder);
  if (made.kind == WorkerTemplate::Kind::kWorker) {
    spec.command = made.command;
    return spec;
  }
  spec.command = {surroundings.program, "worker", "--shutdown-timeout-seconds",
                  std::to_string(surroundings.shutdown_timeout.count())};
  // One that is kept ready waits for its job, also where each takes only one.
  if (order.loop || order.stays) {
    for (std::string word :
         {std::string("--loop"), std::string("--idle-timeout-seconds"),
          std::to_string(order.stays ? 0 : surroundings.idle_timeout.count()),
          std::string("--max-jobs"), std::to_string(order.loop ? surroundings.max_jobs : 1)}) {
      spec.command.push_back(std::move(word));
    }
  }
  if (made.kind == WorkerTemplate::Kind::kBuiltin) {
    spec.command.insert(spec.command.end(), {"--builtin", made.command.front()});
  } else {
    spec.command.push_back("--");
    spec.command.insert(spec.command.end(), made.command.begin(), made.command.end());
  }
  return spec;
}

std::string workerOutputFolder(const Settings& settings) {
  const auto folder = stateFolder(settings);
  return folder ? (*folder / "worker_output").string()
                : std::filesystem::temp_directory_path().string();
}

std::string hostFolderOf(const Settings& settings) {
  const auto folder = stateFolder(settings);
  return folder ? (*folder / "host").string() : "";
}

std::string templateVersion(const WorkerTemplate& made) {
  JsonWriter out;
  out.beginArray().value(static_cast<int>(made.kind)).value(made.cwd);
  for (const std::string& word : made.command) out.value(word);
  out.beginObject();
  for (const auto& [name, value] : made.env) out.field(name, value);
  out.endObject();
  if (!made.capabilities.empty() || !made.executors.empty()) {
    out.raw(writeTexts(made.capabilities)).raw(writeTexts(made.executors));
  }
  // Only where it is set: a template that says nothing of it keeps the version that it has.
  if (made.user) out.value(made.user->name).value(static_cast<std::int64_t>(made.user->gid));
  if (!made.pass_env.empty()) out.raw(writeTexts(made.pass_env));
  out.endArray();
  return sha256Hex(out.take()).substr(0, 12);
}

}  // namespace muster

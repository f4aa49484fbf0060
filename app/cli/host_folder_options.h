#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "app/cli/commands.h"
#include "app/client/content.h"
#include "app/client/json_fields.h"
#include "app/worker/folder_keeping.h"
#include "models/json/json_writer.h"

namespace CLI {
class App;
}

namespace muster {

// Which host folder a command is about.
struct HostFolderOptions {
  std::string host;                         // empty: this machine's name
  std::string data_dir;                     // empty: what the service says, or the user's own
  std::optional<std::uint64_t> most_bytes;  // from the environment
  std::map<std::string, std::string> environment;
};

void addHostFolderOptions(CLI::App& app, HostFolderOptions& options);

// Takes what the command line left open from the environment, as workers do. What is wrong with it;
// empty when nothing is.
std::string readFolderEnvironment(const Environment& env, HostFolderOptions& options);

// Where the folder is; the service may be asked.
std::string findHostFolder(const HostFolderOptions& options, ApiClient& api);

// Tends the folder and has it keep the file, for which `path` is asked to make a resource with
// these fields and those that `add_fields` adds.
using AddKeptFields = std::function<void(JsonWriter& body, const KeptFile& file)>;
tl::expected<JsonAnswer, Refusal> keepOnHost(const HostFolderOptions& options,
                                             const std::string& source, const std::string& path,
                                             const AddKeptFields& add_fields, ApiClient& api);

// Why it was refused, and the exit code.
int tellRefusal(Terminal& terminal, const Refusal& refusal);

}  // namespace muster

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/host_folder_options.h"

namespace CLI {
class App;
}

namespace muster {

struct CommandLine;

// In the command of a job these use the token of its worker; lists are not for that.
struct AboutResources {};

struct ArtifactPutCommand : AboutResources {
  std::string name;
  std::string file = "-";  // a file or folder; - is standard input
  std::string type;        // empty: file, or dir for a folder
  std::optional<double> ttl_seconds;
  std::string job;          // empty: that of the environment
  std::string lease_token;  // from the environment
  bool on_host = false;     // stays on this host
  HostFolderOptions folder = {};
};

struct ArtifactGetCommand : AboutResources {
  std::string what;  // the id of a resource, or JOB/NAME
  std::string file = "-";
};

struct ArtifactListCommand {
  std::string job;
};

struct ResourceListCommand {
  std::string scope, type, holder, state, tenant, job;
  std::size_t limit = 50;
};

struct ResourceShowCommand : AboutResources {
  std::string id;
};

struct ResourceLeaseCommand : AboutResources {
  std::string id;
  std::optional<double> ttl_seconds;
  std::string worker;            // empty: the job of the environment, or nobody
  std::string job, lease_token;  // from the environment
};

struct ResourceReleaseCommand : AboutResources {
  std::string id, lease;
};

struct ResourceTouchCommand : AboutResources {
  std::string id;
  std::optional<double> ttl_seconds;
};

struct ResourceDeleteCommand : AboutResources {
  std::vector<std::string> ids;
  bool force = false;
};

struct ResourceKeepCommand : AboutResources {
  std::string path;
  std::string id, type, scope;  // the type is file or dir if it is empty
  std::optional<double> ttl_seconds;
  HostFolderOptions folder = {};
};

struct ResourceGcCommand : AboutResources {
  HostFolderOptions folder = {};
};

// Add `muster artifacts` or `muster resources` and their commands to `root`; what is parsed goes
// into `line`.
void addArtifactCommands(CLI::App& root, CommandLine& line);
void addResourceCommands(CLI::App& root, CommandLine& line);

// Takes what the command line left open from the environment of a job's command. What is wrong
// with the options taken together; empty when nothing is.
std::string completeFromJob(const Environment& env, ArtifactPutCommand& options);
std::string completeFromJob(const Environment& env, ArtifactListCommand& options);
std::string completeFromJob(const Environment& env, ResourceLeaseCommand& options);
std::string completeFromJob(const Environment& env, ResourceKeepCommand& options);
std::string completeFromJob(const Environment& env, ResourceGcCommand& options);

int run(const ArtifactPutCommand& command, ApiClient& api, Terminal& terminal);
int run(const ArtifactGetCommand& command, ApiClient& api, Terminal& terminal);
int run(const ArtifactListCommand& command, ApiClient& api, Terminal& terminal);
int run(const ResourceListCommand& command, ApiClient& api, Terminal& terminal);
int run(const ResourceShowCommand& command, ApiClient& api, Terminal& terminal);
int run(const ResourceLeaseCommand& command, ApiClient& api, Terminal& terminal);
int run(const ResourceReleaseCommand& command, ApiClient& api, Terminal& terminal);
int run(const ResourceTouchCommand& command, ApiClient& api, Terminal& terminal);
int run(const ResourceDeleteCommand& command, ApiClient& api, Terminal& terminal);
int run(const ResourceKeepCommand& command, ApiClient& api, Terminal& terminal);
int run(const ResourceGcCommand& command, ApiClient& api, Terminal& terminal);

}  // namespace muster

#pragma once

#include <functional>
#include <map>
#include <string>

#include "app/config/settings.h"
#include "app/launch/spawn.h"
#include "models/store/sql/launches.h"

namespace muster {

// How those whom the service launches reach it.
struct ServiceAddress {
  std::string url = {};
  std::string certificate = {};  // the file that holds its certificate; empty: it is not needed
  // The same for another user, who cannot reach that file.
  std::string certificate_of_settings = {};
};

// Puts into the environment what those at `address` need besides the URL: they are on this machine,
// and take it for what it is, whatever name its certificate has. Nodes that it leads them to may
// have their token.
void addTrust(const ServiceAddress& address, std::map<std::string, std::string>& env);

// What a launched worker is told of the service that launched it.
struct WorkerSurroundings {
  std::string program;  // of muster itself
  ServiceAddress service;
  std::function<std::string(const LaunchOrder& order)> worker_token;
  Seconds shutdown_timeout{30};
  Seconds idle_timeout{30};
  int max_jobs = 0;
  Environment environment = {};          // of the service
  std::vector<std::string> passed = {};  // which of its variables pass to every worker
  std::string host = {};                 // what the service calls this machine; empty: not told
  std::string host_folder = {};          // for files of the host; empty: not told
};

// The templates whose `user` this process may not run programs as, each with the reason.
std::vector<FieldError> templatesWithoutTheirUser(const Settings& settings);

// The process that an order asks for.
ProcessSpec workerProcess(const LaunchOrder& order, const WorkerTemplate& made,
                          const WorkerSurroundings& surroundings);

// Where running workers write: beside the database, or where else the service keeps things, so that
// a restart finds it. A service in memory makes a folder of its own there.
std::string workerOutputFolder(const Settings& settings);

// Where workers that the service launches keep files of this host: beside the database, or where
// else the service keeps things. Empty for a service in memory, after which nothing is to stay.
std::string hostFolderOf(const Settings& settings);

// Another text whenever anything about the template is another.
std::string templateVersion(const WorkerTemplate& made);

}  // namespace muster

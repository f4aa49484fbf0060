#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/worker/service_client.h"

namespace muster {

struct CommandService {
  std::string url;
  std::string pool;
  std::string worker_id;
  std::string worker_token;
};

// The environment of a job's command as NAME=value: the worker's own with the job put over it, and
// without what was meant for the worker alone. `upstream` is the path of the file with what the
// jobs before it left; empty: there are none.
std::vector<std::string> commandEnvironment(std::map<std::string, std::string> inherited,
                                            const ClaimedJob& job, const CommandService& service,
                                            const std::string& upstream);

}  // namespace muster

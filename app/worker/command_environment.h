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

// Paths of a job's files, and what they belong to. What is empty is not told.
struct CommandFiles {
  std::string upstream;  // what the jobs before it left
  std::string inputs, resources;
  std::string outputs;
  std::string scope;
  std::string data_dir;
  std::string host;
};

// The environment of a job's command as NAME=value: the worker's own with the job put over it, and
// without what was meant for the worker alone.
std::vector<std::string> commandEnvironment(std::map<std::string, std::string> inherited,
                                            const ClaimedJob& job, const CommandService& service,
                                            const CommandFiles& files);

}  // namespace muster

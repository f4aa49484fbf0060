#pragma once

#include <string>
#include <vector>

#include "app/worker/service_client.h"

namespace muster {

// An input as the job's command finds it; without a path there is nothing of it on this host.
struct PlacedInput {
  ClaimedInput input;
  std::string path;
};

// What is wrong with the names of a job's inputs taken together: one that leads out of their
// folder, the same one twice, or one below another. Empty when nothing is.
std::string inputNamesFault(const std::vector<ClaimedInput>& inputs);

// The file that MUSTER_RESOURCES names: an object with a member for each input, under its id.
std::string resourcesJson(const std::vector<PlacedInput>& inputs);

}  // namespace muster

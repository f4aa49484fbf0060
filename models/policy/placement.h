#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Which workers may run a job. Absent parts do not constrain.
struct Placement {
  std::vector<std::string> executors;     // the worker must have all of them
  std::vector<std::string> capabilities;  // all of them, exact and case-sensitive; `gpu=nvidia`
  std::optional<std::vector<std::string>> allowed_nodes;  // present and empty: nobody
  std::vector<std::string> forbidden_nodes;               // beats allowed_nodes
  std::optional<int> max_parallel_per_node;
  std::string region;

  bool unreadable = false;  // what it asks for is not known: nobody may run the job

  bool empty() const;
  bool operator==(const Placement&) const = default;
};

// The placement of a job whose own cannot be read: no worker meets it.
inline Placement nowhere() {
  Placement placement;
  placement.unreadable = true;
  return placement;
}

// What the claim knows of the worker that asks. An unregistered worker has nothing.
struct WorkerTraits {
  std::string node;  // its host
  std::string region;
  std::vector<std::string> capabilities;
  std::vector<std::string> executors;
};

// Why the worker may not run the job, or nothing when it may. `running_on_node` counts the pool's
// claimed jobs with a per-node limit on the worker's node.
std::optional<std::string> placementObstacle(const Placement& placement, const WorkerTraits& worker,
                                             int running_on_node);

}  // namespace muster

#pragma once

#include <string>
#include <vector>

#include "app/cli/commands.h"

namespace CLI {
class App;
}

namespace muster {

// Adds the options of `muster worker`; what is parsed goes into `options`.
void addWorkerOptions(CLI::App& app, WorkerCommand& options);

// Takes what stands behind the `--` of `muster worker` out of `args`: the command belongs to the
// user as it is, and the parser would read it as ours.
std::vector<std::string> takeWorkerCommand(std::vector<std::string>& args);

// What the environment says beside the command line, which goes before it. Where a variable of ours
// is not set, that of the same thing in another system's workers is read. A limit can only be
// lowered. What is wrong with it; empty when nothing is.
std::string readWorkerEnvironment(const Environment& env, WorkerCommand& options);

// A variable of workers: ours, or that of another system's workers; `name` is the one that counts.
struct WorkerVariable {
  std::string name, value;
};
WorkerVariable workerVariable(const Environment& env, const std::string& name);
// Nothing when it is not set; a fault when it is no number from 1 on.
std::optional<std::uint64_t> numberIn(const WorkerVariable& variable, std::string& fault);

// What is wrong with the options taken together; empty when nothing is.
std::string workerFault(const WorkerCommand& options);

}  // namespace muster

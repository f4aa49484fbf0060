#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands.h"

namespace CLI {
class App;
}

namespace muster {

struct CommandLine;

struct FlowCreateCommand {
  std::string file;   // - is standard input
  bool wait = false;  // until the flow has ended
};

struct FlowAddCommand : NewJobOptions {
  std::string name;  // empty: a hash of pool and data
  std::string pool;
  std::optional<std::string> data;
  std::optional<std::string> file;  // one of the two; - is standard input
  std::vector<std::string> after, after_failure, after_any;
  bool may_fail = false;
  std::string flow;  // empty: a child of `parent`
  // From the environment: the job that runs this command, and the proof that it does.
  std::string parent, lease_token;
};

struct FlowListCommand {
  std::string status, name, tenant;
  std::size_t limit = 50;
};

struct FlowShowCommand {
  std::string id;
  std::size_t limit = 50;  // of jobs
};

struct FlowJobsCommand {
  std::string id;
  std::string status;
  std::string parent;  // id of a job; empty: jobs of all levels
  std::size_t limit = 50;
};

struct FlowCloseCommand {
  std::string id;
};

struct FlowCancelCommand {
  std::string id;
  std::string reason;
};

struct FlowRetryCommand {
  std::string id;
  std::vector<std::string> jobs;  // empty: all that did not end well
  std::optional<double> deadline_seconds;
};

struct FlowDeleteCommand {
  std::string id;
};

// Adds `muster flows` and its commands to `root`; what is parsed goes into `line`.
void addFlowCommands(CLI::App& root, CommandLine& line);

// What is wrong with the options taken together; empty when nothing is.
std::string flowAddFault(const FlowAddCommand& options);

int run(const FlowCreateCommand& command, ApiClient& api, Terminal& terminal);
int run(const FlowAddCommand& command, ApiClient& api, Terminal& terminal);
int run(const FlowListCommand& command, ApiClient& api, Terminal& terminal);
int run(const FlowShowCommand& command, ApiClient& api, Terminal& terminal);
int run(const FlowJobsCommand& command, ApiClient& api, Terminal& terminal);
int run(const FlowCloseCommand& command, ApiClient& api, Terminal& terminal);
int run(const FlowCancelCommand& command, ApiClient& api, Terminal& terminal);
int run(const FlowRetryCommand& command, ApiClient& api, Terminal& terminal);
int run(const FlowDeleteCommand& command, ApiClient& api, Terminal& terminal);

}  // namespace muster

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/worker/worker_watch.h"

namespace muster {

struct JobCommand {
  std::vector<std::string> argv;
  std::vector<std::string> env;          // NAME=value
  std::string input;                     // for its standard input
  std::size_t max_output = 0;            // of standard output to keep; the rest is read and dropped
  Millis grace = Seconds(5);             // between SIGTERM and SIGKILL
  CommandOutput::Spill spill = {};       // of standard output, see CommandOutput
  std::function<void()> meanwhile = {};  // called now and then: after each heartbeat
};

// Runs the command until it ends or the watch says stop. Reads whatever it writes, whether or not
// it reads what it is given. A process that it leaves behind in its group is killed.
JobEnd runCommand(const JobCommand& command, WorkerWatch& watch);

// What the built-in worker is to do: it answers with the data after its `delay_seconds`, at most an
// hour. Data with `fail` ends like a command with exit code 1 and that text on stderr.
struct EchoJob {
  Millis delay{0};
  std::optional<std::string> fault;
};
EchoJob readEcho(const std::string& data);
JobEnd runEcho(const EchoJob& job, const std::string& data, std::size_t max_output,
               WorkerWatch& watch);

}  // namespace muster

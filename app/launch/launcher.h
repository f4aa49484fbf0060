#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/time.h"
#include "models/worker.h"

namespace muster {

// A process to be started. No shell reads the command.
struct ProcessSpec {
  std::string name;  // unique; a worker's id for workers
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  std::string cwd;  // empty: the service's own
};

// Starts processes and sees them end. Thread-safe; nothing here blocks.
class Launcher {
 public:
  // Told on a thread of the launcher. Each process that was started ends exactly once; one that
  // could not be started is told of by `failed` alone.
  struct Listener {
    std::function<void(const std::string& name, const std::string& process_key)> started;
    std::function<void(const std::string& name, const std::string& why)> failed;
    std::function<void(const std::string& name, const ProcessEnd& end)> ended;
  };

  virtual ~Launcher() = default;
  virtual void launch(ProcessSpec spec) = 0;
  // A process that an earlier run of the service started. Its exit code cannot be known.
  virtual void adopt(std::string name, std::string process_key) = 0;
  // Asks the process to end after `delay` (TERM to its group), and `grace` later makes it (KILL).
  // One that has ended by then, or is not known here, is left alone.
  virtual void stop(std::string name, Millis delay, Millis grace) = 0;
  // What the process has written so far, the end of it.
  virtual ProcessEnd peek(const std::string& name) = 0;
};

}  // namespace muster

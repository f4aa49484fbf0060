#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "app/launch/output_file.h"
#include "app/launch/spawn.h"
#include "app/log/log.h"
#include "models/clock.h"
#include "models/time.h"
#include "models/worker.h"

namespace muster {

// Starts processes on this machine and sees them end. One thread starts them, waits for their ends
// and sends the signals, so that nothing it knows needs a lock; the public methods only hand it
// work. Thread-safe; nothing here blocks.
//
// A process is in a group of its own, has nothing open but its output, and survives the service.
// As process 1 of a container the launcher also reaps what orphans leave.
class ProcessLauncher {
 public:
  // Told on the launcher's thread. Each process that was started ends exactly once; one that could
  // not be started is told of by `failed` alone.
  struct Listener {
    std::function<void(const ProcessSpec& spec, const std::string& process_key)> started;
    std::function<void(const std::string& name, const std::string& why)> failed;
    std::function<void(const std::string& name, const ProcessEnd& end)> ended;
  };

  // `folder` holds the outputs of running processes. It is made when it is missing, and removed at
  // the end when it is empty. Throws std::runtime_error when it is not our user's own.
  ProcessLauncher(std::string folder, Listener listener, const Clock& clock, const Log& log);
  ~ProcessLauncher();

  // Nothing is told any more; the processes go on.
  void close();

  void launch(ProcessSpec spec);
  // A process that an earlier run of the service started. Its exit code cannot be known.
  void adopt(std::string name, std::string process_key);
  // Asks the process to end after `delay` (TERM to its group), and `grace` later makes it (KILL).
  // One that has ended by then, or is not known here, is left alone.
  void stop(std::string name, Millis delay, Millis grace);
  // What the process has written so far, the end of it.
  ProcessEnd peek(const std::string& name);
  // How many have not been seen to end, those on their way included.
  std::size_t running() const { return running_; }

 private:
  struct Process {
    pid_t pid = 0;
    int pidfd = -1;
    std::string key;
    OutputFile output;
    bool child = true;  // false: adopted
    std::optional<std::chrono::nanoseconds> term_at = {}, kill_at = {};
    Millis grace{0};
  };

  std::string pathOf(const std::string& name) const { return folder_ + "/" + name + ".log"; }
  void post(std::function<void()> task);
  void loop();
  void runTasks();
  void start(const ProcessSpec& spec);
  void watch(const std::string& name, Process process);
  void collect(const std::string& name);
  void tellFailed(const std::string& name, const std::string& why);
  void tellEnded(const std::string& name, const ProcessEnd& end);
  void lookAtDeadlines();
  int timeout() const;
  static void signal(const Process& process, int number);

  const std::string folder_;
  const Listener listener_;
  const Clock& clock_;
  const Log& log_;
  const bool adopts_orphans_;
  int epoll_ = -1;
  int wake_ = -1;

  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  bool closing_ = false;                     // guarded by mutex_
  std::atomic<std::size_t> running_ = 0;

  // The thread's own.
  std::map<std::string, Process> processes_;
  std::map<int, std::string> by_pidfd_;
  std::chrono::nanoseconds next_trim_{0};

  std::jthread thread_;  // last: it uses the rest
};

}  // namespace muster

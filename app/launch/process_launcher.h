#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "app/launch/launcher.h"
#include "app/launch/output_file.h"
#include "app/log/log.h"
#include "models/clock.h"

namespace muster {

// Launches on this machine. One thread starts the processes, waits for their ends and sends the
// signals, so that nothing it knows needs a lock; the public methods only hand it work.
//
// A process is in a group of its own, has nothing open but its output, and survives the service.
// As process 1 of a container the launcher also reaps what orphans leave.
class ProcessLauncher : public Launcher {
 public:
  // `folder` holds the outputs of running processes and is made when it is missing.
  ProcessLauncher(std::string folder, Listener listener, const Clock& clock, const Log& log);
  ~ProcessLauncher() override;

  // Nothing is told any more; the processes go on.
  void close();

  void launch(ProcessSpec spec) override;
  void adopt(std::string name, std::string process_key) override;
  void stop(std::string name, Millis delay, Millis grace) override;
  ProcessEnd peek(const std::string& name) override;

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
  void reapOrphans();
  void lookAtDeadlines();
  int timeout() const;
  static void signal(const Process& process, int number);

  const std::string folder_;
  const Listener listener_;
  const Clock& clock_;
  const Log& log_;
  int epoll_ = -1;
  int wake_ = -1;

  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  bool closing_ = false;                     // guarded by mutex_

  // The thread's own.
  std::map<std::string, Process> processes_;
  std::map<int, std::string> by_pidfd_;
  std::chrono::nanoseconds next_trim_{0};
  std::map<pid_t, std::chrono::nanoseconds> strangers_;  // ended, not ours, first seen then

  std::jthread thread_;  // last: it uses the rest
};

}  // namespace muster

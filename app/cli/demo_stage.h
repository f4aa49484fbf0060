#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/service_call.h"
#include "app/log/system_clock.h"
#include "app/worker/process_signals.h"

namespace muster {

// Where the demo plays: a pool of its own, somebody who tells what happens, and a list of what was
// found. Not thread-safe. While it lives, Ctrl-C and SIGTERM end the demo and not the process, so
// that the pool can be removed.
class DemoStage {
 public:
  DemoStage(ApiClient& api, Terminal& terminal, std::string pool);

  const std::string& pool() const { return pool_; }
  std::string poolPath(const std::string& tail = "") const;

  // Nothing when the service refused or is gone; then the demo is over.
  std::optional<Reply> ask(const HttpRequest& request);
  std::optional<Reply> get(const std::string& path) { return ask({.path = path}); }
  std::optional<Reply> post(const std::string& path, const std::string& body = "{}");
  // The status of the answer, whatever it is; 0 when there was none.
  int statusOfPost(const std::string& path, const std::string& body);
  // Removes the pool and the flows, also when the demo is over; says so when the pool cannot be
  // removed.
  void removeAll();
  // From now on the flow is one of those to remove.
  void addFlow(std::string id) { flows_.push_back(std::move(id)); }

  // Looks again and again; false when it did not come true in time, or the demo is over.
  bool until(const std::function<bool()>& condition);
  bool isOver() const;

  void beginStep(const std::string& title);
  void say(const std::string& line);
  void note(const std::string& what, const std::string& expected, const std::string& seen, bool ok);
  // A step that cannot be shown here, and why; it counts neither way.
  void skip(const std::string& why);
  // A bar on a screen, else a line for every change.
  void showProgress(std::size_t done, std::size_t total, const std::string& more);

  // Prints the end and answers the exit code.
  int finish();

  Terminal& terminal() { return terminal_; }
  std::ostream& story() { return story_; }

 private:
  struct Finding {
    std::string what, expected, seen;
    bool ok;
  };

  ApiClient& api_;
  Terminal& terminal_;
  std::ostream& story_;  // stdout, or stderr where stdout is for JSON
  const std::string pool_;
  const SystemClock clock_;
  const WakeUp wake_up_;
  const ProcessSignals signals_;
  int steps_ = 0;
  std::string last_progress_;
  std::vector<std::string> flows_;
  std::vector<Finding> findings_;
  int exit_code_ = kExitOk;  // of the first call that failed
};

// A member that is a whole number; 0 when it is not.
std::int64_t numberOf(JsonValue value, std::string_view name);

}  // namespace muster

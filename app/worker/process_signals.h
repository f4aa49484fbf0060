#pragma once

#include "app/worker/descriptor.h"

namespace muster {

// A descriptor to poll that becomes readable by wake(), which any thread and any signal handler may
// call.
class WakeUp {
 public:
  WakeUp();
  int fd() const { return event_.get(); }
  void wake() const noexcept;
  void clear() const noexcept;

 private:
  Descriptor event_;
};

// While it lives, SIGTERM and SIGINT are counted instead of ending the process, they and SIGCHLD
// wake `wake_up`, and SIGPIPE is ignored. At most one at a time.
class ProcessSignals {
 public:
  explicit ProcessSignals(const WakeUp& wake_up);
  ~ProcessSignals();
  ProcessSignals(const ProcessSignals&) = delete;
  ProcessSignals& operator=(const ProcessSignals&) = delete;

  int stopRequests() const;
};

}  // namespace muster

#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "app/worker/job_end.h"
#include "app/worker/process_signals.h"
#include "app/worker/service_client.h"
#include "models/clock.h"

namespace muster {

// What the heartbeat and the signals have to say to the thread that works: whether it may go on
// with its job, and whether it may take another. Thread-safe.
class WorkerWatch {
 public:
  using Moment = std::chrono::nanoseconds;  // of the clock that never steps back

  WorkerWatch(const Clock& clock, Millis shutdown_timeout)
      : clock_(clock), shutdown_timeout_(shutdown_timeout), signals_(wake_up_) {}

  Moment now() const { return clock_.monotonic(); }

  // The thread that works.
  void hold(const ClaimedJob& job);
  void letGo();
  bool mayClaim();
  bool isGone() const;
  // Why the job in hand must end now.
  StopReason stopReason();
  // The lease may be over: it was not renewed in time, as far as our own clock knows.
  bool leaseIsOver() const;
  // For poll() on wakeUp(): how long until the lease or the time to finish is over, and until `at`.
  int millisUntilDeadline() const;
  int millisUntil(Moment at) const;
  const WakeUp& wakeUp() const { return wake_up_; }
  // Waits until `at` or a wake-up, whichever comes first.
  void wait(Moment at) const;
  void noteDrain();
  void noteGone();

  // The heartbeat: `held` is what heldJob() said before the call was sent at `sent`.
  std::string heldJob() const;
  void noteHeartbeat(const HeartbeatAnswer& answer, const std::string& held, Moment sent);

 private:
  void noteSignals();                  // with the mutex held
  Moment leaseEnd(Moment from) const;  // with the mutex held

  const Clock& clock_;
  const Millis shutdown_timeout_;
  WakeUp wake_up_;
  ProcessSignals signals_;

  mutable std::mutex mutex_;
  std::string job_;  // empty: none in hand
  Millis lease_{0};
  Moment lease_end_{0};
  bool lease_lost_ = false;
  bool cancelled_ = false;
  bool draining_ = false;
  bool gone_ = false;
  std::optional<Moment> shutdown_at_;  // set by the first signal
};

}  // namespace muster

#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "app/log/log.h"
#include "app/worker/worker_watch.h"

namespace muster {

// Tells the service that this worker lives, on a thread of its own, and passes what the service
// says to the watch. Ends with this object.
class HeartbeatThread {
 public:
  // `client` has the worker's token.
  HeartbeatThread(ServiceClient client, const Registration& registration, WorkerWatch& watch,
                  const Log& log);

  // From now on: the thread begins with the first call. A worker that is done in a moment has no
  // use for one, and it costs a tenth of its life.
  void begin();

  // A job with a shorter lease than was known wants to be renewed more often.
  void keepAlive(Millis lease);

 private:
  void run(const std::stop_token& stop);
  Millis beat(const std::stop_token& stop);  // how long to wait for the next

  ServiceClient client_;
  const std::string worker_;
  WorkerWatch& watch_;
  const Log& log_;
  const WorkerWatch::Moment registered_at_;
  int failures_ = 0;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  Millis interval_;

  std::jthread thread_;  // last: it uses all of the above
};

// At most a third of the lease, so that one lost call does no harm.
Millis heartbeatInterval(Millis wanted, Millis lease);

}  // namespace muster

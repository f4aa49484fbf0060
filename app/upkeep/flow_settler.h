#pragma once

#include <mutex>

#include "app/log/log.h"
#include "app/log/log_throttle.h"
#include "models/clock.h"
#include "models/operations/flows.h"
#include "models/store/storage.h"

namespace muster {

// Settles what ended jobs of flows have left to do, a piece at a time, until nothing is left. Each
// piece is a unit of work of its own, and the next is handed to the storage when it is committed:
// what others have asked for meanwhile comes first. An error leaves the rest to the next look().
//
// Thread-safe; never blocks. Continuations call into it until the storage is stopped.
class FlowSettler {
 public:
  FlowSettler(Storage& storage, const Clock& clock, const Log& log)
      : storage_(storage), log_(log), errors_(clock, kErrorsASecond) {}

  // A commit has left something (StoreRules::on_unsettled).
  void request();

  // Looks whether something was left: by a crash, by an error, or by a node that is gone.
  void look();

  // No unit begins after it; one that was handed over ends with the storage.
  void stop();

 private:
  static constexpr double kErrorsASecond = 1;

  void settleOn();
  void done(const Status& status, bool more);
  void failed(const Error& error);

  Storage& storage_;
  const Log& log_;
  LogThrottle errors_;

  std::mutex mutex_;
  bool settling_ = false;   // guarded by mutex_: a unit is on its way
  bool requested_ = false;  // guarded by mutex_: more was left since it was handed over
  bool looking_ = false;    // guarded by mutex_
  bool stopped_ = false;    // guarded by mutex_
};

}  // namespace muster

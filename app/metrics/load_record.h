#pragma once

#include <list>
#include <mutex>
#include <span>

#include "models/event.h"
#include "models/load.h"
#include "models/store/store.h"

namespace muster {

// Gathers what this node's commits did to the jobs of each pool, until somebody writes it into the
// store's record of load: the tick, each second, and whoever is about to read the record in a unit
// that writes. What was gathered since then is lost when the process dies: it is statistics, and
// not worth a row in the transaction of each job. Thread-safe.
class LoadRecord {
 public:
  // What was committed here; what other nodes commit they record themselves.
  void hear(std::span<const Event> events);

  bool empty() const;
  // Writes what was gathered, in this unit; if the unit fails, it is as if nobody had.
  void writeTo(Store& store);

  // What the store may not show yet, from `since` on. Ask before reading the store: what is written
  // in between is then counted twice at worst, and never missed.
  LoadByStep unwritten(const PoolId& pool, Time since) const;

 private:
  mutable std::mutex mutex_;
  LoadByStep gathered_;            // guarded by mutex_
  std::list<LoadByStep> written_;  // not committed yet; guarded by mutex_
};

}  // namespace muster

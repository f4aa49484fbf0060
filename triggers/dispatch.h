#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "models/clock.h"
#include "models/event.h"
#include "models/store/storage.h"
#include "triggers/lambda_trigger.h"
#include "triggers/ports.h"
#include "triggers/subprocess_trigger.h"
#include "triggers/trigger_registry.h"

namespace muster {

// Fires triggers: on the events of a commit, on schedule, or when it is told to. Thread-safe, never
// blocks.
class Dispatch {
 public:
  struct Parts {
    TriggerRegistry& registry;
    Storage& storage;
    const Clock& clock;
    Machines& machines;
    SubprocessTrigger& processes;
    LambdaTrigger& functions;
    ErrandFailed failed;
    std::function<void(const std::string& trigger)> started;  // for the metrics
    // What entitles this node to fire schedules; nothing when it does not lead.
    std::function<std::optional<LeaderLease>()> lease;
  };
  explicit Dispatch(Parts parts);

  // Sets off the triggers that wait for such events. Those in the loop leave no event of their
  // own: they fire with every commit.
  void onCommit(std::span<const Event> events);

  // Fires what is due by its schedule, once however often it was missed; on the leader alone.
  void tick();

  // Starts the machine of a trigger, whose firing is noted by others. An empty pool means the one
  // in its input, else every pool. False when the same waits to be done already.
  bool start(const TriggerSpec& spec, const PoolId& pool, const std::string& run_id);

  // The id of a run that is not noted in the store.
  std::string newRun();

  // Notes a firing in the store, in its own time.
  void note(const std::string& name, const std::string& run_id, const std::string& pool);

  // When a trigger in the loop last fired, as far as that is not in the store yet.
  std::optional<Time> lastFired(const std::string& name) const;

 private:
  void fire(const TriggerSpec& spec, const PoolId& pool);
  std::map<std::string, Time> takeTouched();

  const Parts parts_;
  mutable std::mutex mutex_;
  Random random_;                        // guarded by mutex_
  IdMaker ids_;                          // guarded by mutex_
  std::map<std::string, Time> touched_;  // guarded by mutex_
};

}  // namespace muster

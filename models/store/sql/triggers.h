#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/result.h"
#include "models/store/sql/session.h"
#include "models/trigger_spec.h"
#include "models/version.h"

namespace muster {

// The triggers, when they last fired, and what their hooks were sent.
class Triggers {
 public:
  explicit Triggers(Session& session) : s_(session) {}

  std::optional<Trigger> find(const std::string& name);
  // All of them: there are at most kMost.
  std::vector<Trigger> all();
  static constexpr std::int64_t kMost = 1000;
  // Differs whenever a trigger was put or removed, by whichever node.
  std::string fingerprint();

  struct Saved {
    Trigger trigger;
    bool created;
  };
  // kTriggerConfigured for one of the configuration, kVersionMismatch, kTooMany.
  Result<Saved> put(const TriggerSpec& spec, IfVersion if_version = {});
  // kNotFound, kTriggerConfigured, kVersionMismatch.
  Status remove(const std::string& name, IfVersion if_version = {});

  // Makes `specs` the triggers of the configuration: those it no longer names go away, one put over
  // HTTP under the same name gives way. What they remember of earlier firings stays.
  void replaceConfigured(const std::vector<TriggerSpec>& specs);

  // The id of a new run.
  std::string newRun() { return s_.ids.next(s_.now); }

  // Notes that it fired, with the event trigger.fired. `pool` may be empty.
  void fired(const std::string& name, const std::string& run_id, const std::string& pool);
  // The same for a schedule that is due, unless another was faster: false.
  bool firedOnSchedule(const std::string& name, Time due_from, const std::string& run_id,
                       const std::string& pool, std::int64_t leader_epoch = 0);
  // Notes times without an event, for triggers that fire all the time.
  void touch(const std::string& name, Time fired_at);
  // The event trigger.rejected.
  void rejected(const std::string& name, const std::string& why);

  // Remembers for a day that the hook was sent this. The run of the first time when it has been
  // sent before; nothing when it is new.
  std::optional<std::string> deliver(const std::string& name, const std::string& delivery,
                                     const std::string& run_id);
  std::int64_t removeOldDeliveries(int limit);

 private:
  void save(const TriggerSpec& spec, bool configured, const std::optional<Trigger>& old);
  void emitFired(const std::string& name, const std::string& run_id, const std::string& pool,
                 std::int64_t leader_epoch = 0);

  Session& s_;
};

}  // namespace muster

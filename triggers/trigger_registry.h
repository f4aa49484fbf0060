#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/event.h"
#include "models/policy/cron.h"
#include "models/time_zone.h"
#include "models/trigger_spec.h"

namespace muster {

// A trigger with what is made ready for it.
struct ReadyTrigger {
  Trigger trigger;
  std::optional<CronSchedule> schedule;
  std::optional<Time> next_due;
};
using ReadyTriggerPtr = std::shared_ptr<const ReadyTrigger>;

// The triggers as the service knows them now. Thread-safe; what was handed out stays as it was.
class TriggerRegistry {
 public:
  explicit TriggerRegistry(ZoneLookup zones) : zones_(std::move(zones)) {}

  // A number for the state of the triggers; take it inside the unit of work that reads them.
  std::uint64_t stamp() { return ++last_stamp_; }
  // Unless a later state is known already.
  void replace(std::vector<Trigger> triggers, std::uint64_t stamp);

  // Null when there is none of this name. Also those that are disabled.
  ReadyTriggerPtr find(std::string_view name) const;
  // Those that are enabled and set off by such an event.
  std::vector<ReadyTriggerPtr> setOffBy(const Event& event) const;
  // Those that are enabled and whose schedule is due.
  std::vector<ReadyTriggerPtr> due(Time now) const;

  const ZoneLookup& zones() const { return zones_; }

 private:
  struct Table {
    std::vector<ReadyTriggerPtr> all;  // by name
    std::vector<ReadyTriggerPtr> on_events;
    std::vector<ReadyTriggerPtr> scheduled;
  };
  std::shared_ptr<const Table> table() const;

  const ZoneLookup zones_;
  std::atomic<std::uint64_t> last_stamp_ = 0;
  mutable std::mutex mutex_;
  std::shared_ptr<const Table> table_ = std::make_shared<Table>();  // guarded by mutex_
  std::uint64_t table_stamp_ = 0;                                   // guarded by mutex_
};

}  // namespace muster

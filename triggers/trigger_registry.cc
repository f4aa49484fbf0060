#include "triggers/trigger_registry.h"

#include <algorithm>

namespace muster {

void TriggerRegistry::replace(std::vector<Trigger> triggers, std::uint64_t stamp) {
  auto table = std::make_shared<Table>();
  std::sort(triggers.begin(), triggers.end(),
            [](const Trigger& a, const Trigger& b) { return a.spec.name < b.spec.name; });
  for (Trigger& trigger : triggers) {
    auto ready = std::make_shared<ReadyTrigger>();
    const TriggerSpec& spec = trigger.spec;
    if (spec.enabled && !spec.schedule.empty()) {
      // It was checked when it was put; a zone that has gone missing since leaves it without.
      if (auto schedule = CronSchedule::parse(spec.schedule, spec.timezone, zones_)) {
        ready->next_due = schedule->next(trigger.due_from);
        ready->schedule = *std::move(schedule);
      }
    }
    ready->trigger = std::move(trigger);
    if (ready->trigger.spec.enabled && !ready->trigger.spec.on.empty()) {
      table->on_events.push_back(ready);
    }
    if (ready->next_due) table->scheduled.push_back(ready);
    table->all.push_back(std::move(ready));
  }
  const std::lock_guard lock(mutex_);
  if (stamp < table_stamp_) return;
  table_stamp_ = stamp;
  table_ = std::move(table);
}

std::shared_ptr<const TriggerRegistry::Table> TriggerRegistry::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

ReadyTriggerPtr TriggerRegistry::find(std::string_view name) const {
  const auto table = this->table();
  const auto found = std::lower_bound(table->all.begin(), table->all.end(), name,
                                      [](const ReadyTriggerPtr& ready, std::string_view wanted) {
                                        return ready->trigger.spec.name < wanted;
                                      });
  const bool is_it = found != table->all.end() && (*found)->trigger.spec.name == name;
  return is_it ? *found : nullptr;
}

std::vector<ReadyTriggerPtr> TriggerRegistry::setOffBy(const Event& event) const {
  std::vector<ReadyTriggerPtr> found;
  for (const ReadyTriggerPtr& ready : table()->on_events) {
    if (setsOff(event, ready->trigger.spec.on)) found.push_back(ready);
  }
  return found;
}

std::vector<ReadyTriggerPtr> TriggerRegistry::due(Time now) const {
  std::vector<ReadyTriggerPtr> found;
  for (const ReadyTriggerPtr& ready : table()->scheduled) {
    if (*ready->next_due <= now) found.push_back(ready);
  }
  return found;
}

}  // namespace muster

#include "triggers/dispatch.h"

#include <set>
#include <string_view>

#include "models/policy/wake_rules.h"

namespace muster {
namespace {

// Events that set off the same triggers: one of them, and the pools of all.
struct AlikeEvents {
  const Event* one = nullptr;
  std::set<std::string_view> pools;
};
// By type, and by whether they bring work: a blocked job is created, but it does not.
using EventGroups = std::map<std::pair<std::string_view, bool>, AlikeEvents>;

EventGroups group(std::span<const Event> events) {
  EventGroups found;
  std::pair<std::string_view, bool> kind;
  std::string_view pool;
  for (const Event& event : events) {
    const std::pair<std::string_view, bool> own{event.type, mayBringWork(event)};
    if (own == kind && event.pool == pool) continue;
    kind = own;
    pool = event.pool;
    AlikeEvents& alike = found[kind];
    if (alike.one == nullptr) alike.one = &event;
    alike.pools.insert(pool);
  }
  return found;
}

}  // namespace

Dispatch::Dispatch(Parts parts)
    : parts_(std::move(parts)),
      ids_([this](std::uint8_t* out, std::size_t size) { random_.bytes(out, size); }) {}

void Dispatch::onCommit(std::span<const Event> events) {
  // Several types of events may set off one trigger for one pool: once is enough.
  std::map<ReadyTriggerPtr, std::set<std::string_view>> set_off;
  for (const auto& [kind, alike] : group(events)) {
    for (const ReadyTriggerPtr& ready : parts_.registry.setOffBy(*alike.one)) {
      set_off[ready].insert(alike.pools.begin(), alike.pools.end());
    }
  }
  for (const auto& [ready, pools] : set_off) {
    const TriggerSpec& spec = ready->trigger.spec;
    for (const std::string_view pool : pools) {
      const PoolId& own = spec.input.pool;
      if (own.empty() || pool.empty() || pool == own.str()) fire(spec, PoolId(std::string(pool)));
    }
  }
}

void Dispatch::fire(const TriggerSpec& spec, const PoolId& pool) {
  if (spec.type == TriggerType::kInLoop) {
    start(spec, pool, {});
    const std::lock_guard lock(mutex_);
    touched_[spec.name] = parts_.clock.now();
    return;
  }
  const std::string run_id = newRun();
  if (start(spec, pool, run_id)) note(spec.name, run_id, pool.str());
}

void Dispatch::note(const std::string& name, const std::string& run_id, const std::string& pool) {
  parts_.storage.note(
      [name, run_id, pool](Store& store) { store.triggers().fired(name, run_id, pool); },
      [failed = parts_.failed, name](const Status& status) {
        if (!status) failed(name, "its firing could not be noted: " + status.error().detail);
      });
}

std::string Dispatch::newRun() {
  const std::lock_guard lock(mutex_);
  return ids_.next(parts_.clock.now());
}

bool Dispatch::start(const TriggerSpec& spec, const PoolId& pool, const std::string& run_id) {
  const Machines::Run run{spec.name, spec.input.pool.empty() ? pool : spec.input.pool,
                          spec.input.max_workers, spec.input.stale_threshold};
  parts_.started(spec.name);
  if (spec.type == TriggerType::kSubprocess) return parts_.processes.start(spec, run);
  if (spec.type == TriggerType::kLambda) return parts_.functions.start(spec, run.pool, run_id);
  if (spec.machine == machine::kReaper) {
    parts_.machines.reap(run);
  } else {
    parts_.machines.check(run);
  }
  return true;
}

void Dispatch::tick() {
  const auto lease = parts_.lease();
  auto due = parts_.registry.due(parts_.clock.now());
  if (!lease) due.clear();
  auto touched = takeTouched();
  if (due.empty() && touched.empty()) return;
  struct Fired {
    ReadyTriggerPtr ready;
    std::string run_id;
  };
  struct Work {
    std::vector<Fired> fired;
    std::vector<Trigger> triggers;
    std::uint64_t stamp = 0;
  };
  auto work = std::make_shared<Work>();
  parts_.storage.write(
      [this, due, touched = std::move(touched), lease, work](Store& store) {
        *work = {};
        Triggers triggers = store.triggers();
        for (const auto& [name, at] : touched) triggers.touch(name, at);
        if (due.empty() || !store.cluster().holds(*lease)) return;
        for (const ReadyTriggerPtr& ready : due) {
          const Trigger& trigger = ready->trigger;
          const std::string run_id = triggers.newRun();
          if (triggers.firedOnSchedule(trigger.spec.name, trigger.due_from, run_id,
                                       trigger.spec.input.pool.str(), lease->epoch)) {
            work->fired.push_back({ready, run_id});
          }
        }
        work->triggers = triggers.all();
        work->stamp = parts_.registry.stamp();
      },
      [this, work](const Status& status) {
        if (!status) {
          parts_.failed("", "triggers that are due could not be noted: " + status.error().detail);
          return;
        }
        if (work->stamp == 0) return;
        parts_.registry.replace(std::move(work->triggers), work->stamp);
        for (const Fired& fired : work->fired) start(fired.ready->trigger.spec, {}, fired.run_id);
      });
}

std::map<std::string, Time> Dispatch::takeTouched() {
  const std::lock_guard lock(mutex_);
  return std::exchange(touched_, {});
}

std::optional<Time> Dispatch::lastFired(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = touched_.find(name);
  return found == touched_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace muster

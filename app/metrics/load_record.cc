#include "app/metrics/load_record.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

struct Counter {
  std::string_view event;
  std::int64_t LoadCounts::*count;
  bool ends_a_try;
};
constexpr Counter kCounters[] = {
    {event_type::kJobCreated, &LoadCounts::added, false},
    {event_type::kJobUnblocked, &LoadCounts::added, false},
    {event_type::kJobClaimed, &LoadCounts::claimed, false},
    {event_type::kJobCompleted, &LoadCounts::done, true},
    {event_type::kJobFailed, &LoadCounts::failed, true},
    {event_type::kJobPoisoned, &LoadCounts::poisoned, true},
    {event_type::kJobCancelled, &LoadCounts::cancelled, false},
    {event_type::kJobExpired, &LoadCounts::cancelled, false},
};

const Counter* counterOf(const Event& event) {
  const bool is_blocked = event.type == event_type::kJobCreated && !addsWork(event);
  if (is_blocked) return nullptr;  // it is added when it is unblocked
  const auto* const found = std::find_if(std::begin(kCounters), std::end(kCounters),
                                         [&](const auto& c) { return c.event == event.type; });
  return found == std::end(kCounters) ? nullptr : found;
}

void count(const Event& event, const Counter& counter, LoadCounts& counts) {
  ++(counts.*counter.count);
  if (event.type == event_type::kJobClaimed) counts.waits.add(event.took);
  if (!counter.ends_a_try) return;
  counts.runs.add(event.took);
  counts.totals.add(event.since_due);
  counts.run_time += event.took;
}

void mergeInto(LoadByStep& sum, const LoadByStep& more) {
  for (const auto& [step, counts] : more) sum[step].merge(counts);
}

void forgetPool(LoadByStep& load, const std::string& pool) {
  std::erase_if(load, [&](const auto& entry) { return entry.first.first == pool; });
}

}  // namespace

void LoadRecord::hear(std::span<const Event> events) {
  const std::lock_guard lock(mutex_);
  auto last = gathered_.end();  // events that come together are mostly of one pool and moment
  for (const Event& event : events) {
    if (event.type == event_type::kPoolDeleted) {
      forgetPool(gathered_, event.pool);
      last = gathered_.end();
    }
    const Counter* const counter = counterOf(event);
    if (counter == nullptr) continue;
    const Time at = loadStepOf(event.at);
    if (last == gathered_.end() || last->first.second != at || last->first.first != event.pool) {
      last = gathered_.try_emplace({event.pool, at}).first;
    }
    count(event, *counter, last->second);
  }
}

bool LoadRecord::empty() const {
  const std::lock_guard lock(mutex_);
  return gathered_.empty();
}

void LoadRecord::writeTo(Store& store) {
  std::list<LoadByStep>::iterator portion;
  {
    const std::lock_guard lock(mutex_);
    if (gathered_.empty()) return;
    portion = written_.insert(written_.end(), std::exchange(gathered_, {}));
  }
  // Nobody changes the portion, and it stays where it is until one of the two is called.
  store.session.afterCommit([this, portion] {
    const std::lock_guard lock(mutex_);
    written_.erase(portion);
  });
  store.session.afterRollback([this, portion] {
    const std::lock_guard lock(mutex_);
    mergeInto(gathered_, *portion);
    written_.erase(portion);
  });
  store.load().add(*portion);
}

LoadByStep LoadRecord::unwritten(const PoolId& pool, Time since) const {
  LoadByStep found;
  const auto collect = [&](const LoadByStep& load) {
    for (auto step = load.lower_bound({pool.str(), since});
         step != load.end() && step->first.first == pool.str(); ++step) {
      found[step->first].merge(step->second);
    }
  };
  const std::lock_guard lock(mutex_);
  collect(gathered_);
  for (const LoadByStep& portion : written_) collect(portion);
  return found;
}

}  // namespace muster

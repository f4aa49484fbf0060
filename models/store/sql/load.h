#pragma once

#include <string_view>
#include <vector>

#include "models/load.h"
#include "models/pool.h"
#include "models/store/sql/session.h"

namespace muster {

// The record of load: what the jobs of each pool did over time. Each node writes what it committed
// itself, in rows of its own that nobody else writes; whoever reads sees the sum.
class Load {
 public:
  explicit Load(Session& session) : s_(session) {}

  // Adds what this node saw. Pools that are gone are passed over.
  void add(const LoadByStep& seen);

  // Notes for every pool how many jobs and workers are there now; a pool where nothing is, and
  // nothing was when it was last done, gets no row.
  void sample();

  // Of the last 300 s of the store's clock, to the step; `signal` as in LoadCounts::of().
  Durations recent(const PoolId& pool, std::string_view signal);
  double p95Ms(const PoolId& pool, std::string_view signal) {
    return recent(pool, signal).percentileMs(0.95);
  }
  // Where recent() begins.
  Time recentSince() const;

  // The hour that `at` falls in, in each of the last `weeks` weeks; those of which nothing is known
  // are left out. The youngest first.
  std::vector<HourOfLoad> sameHours(const PoolId& pool, Time at, int weeks);

  // The steps from `from` to before `to`, in their order; several of one time where there are
  // several nodes.
  std::vector<LoadStep> steps(const PoolId& pool, Time from, Time to);
  // As they were last looked at before `before`; zeros when they never were.
  LoadGauges gaugesBefore(const PoolId& pool, Time before);

  // Steps that began before `before`, and hours that are too old to predict from.
  std::int64_t removeOld(Time before, int limit);
  void removeOf(const PoolId& pool);

 private:
  Session& s_;
};

}  // namespace muster

#pragma once

#include <memory>
#include <vector>

#include "models/pool.h"
#include "models/result.h"
#include "models/store/sql/session.h"
#include "models/version.h"

namespace muster {

// The pools, their lanes and their counters.
class Pools {
 public:
  explicit Pools(Session& session) : s_(session) {}

  // The pool as it is now; null when there is none.
  std::shared_ptr<const Pool> find(const PoolId& id);

  // The pool, made with the defaults when it is new and the rules allow that; else kNotFound.
  // kTooMany when there are max_pools already, here and in put().
  Result<std::shared_ptr<const Pool>> findOrCreate(const PoolId& id);

  struct Saved {
    std::shared_ptr<const Pool> pool;
    bool created;
  };
  // kTooMany when there is no room for so many more pools.
  Status checkRoom(std::int64_t more = 1);

  // Replaces the settings (or makes the pool); `if_version` guards it: kVersionMismatch.
  Result<Saved> put(const PoolId& id, const PoolSettings& settings, IfVersion if_version = {});
  // Changes what `changes` sets; kNotFound, kVersionMismatch.
  // `unset` names settings that are to have their default again.
  Result<Saved> patch(const PoolId& id, const PoolSettings& changes, IfVersion if_version = {},
                      const std::vector<std::string>& unset = {});

  // kNotFound, kVersionMismatch, kPoolNotEmpty while it has jobs.
  Status remove(const PoolId& id, IfVersion if_version = {});

  // After `after` in the order of their names.
  std::vector<std::shared_ptr<const Pool>> list(const std::string& after, int limit);

  // The lanes that anybody may serve, kept from one call to the next; only in a unit that writes.
  const std::vector<Lane>& knownLanes(const PoolId& id);
  // In the same way, those of one holder, and which of the holders that a worker is for its jobs
  // (`worker:ID`, and `host:NAME` if it has one) have lanes.
  const std::vector<Lane>& pinnedLanes(const PoolId& id, const std::string& pin);
  std::vector<std::string> pinsOf(const PoolId& id, const std::string& worker,
                                  const std::string& host);
  // Whether any holder has lanes.
  bool hasPinned(const PoolId& id);
  std::string pinOf(std::int64_t lane);
  // Whether jobs of the pool name a tenant, or did of late; only in a unit that writes.
  bool hasTenants(const PoolId& id);
  std::int64_t laneFor(const PoolId& id, const std::string& tenant, const std::string& placement,
                       const std::string& pin = {});

  // Everything that can be counted in the store; zeros for a pool never seen.
  PoolStats stats(const PoolId& id);

  struct Counted {
    std::shared_ptr<const Pool> pool;
    PoolStats stats;
  };
  // Every pool in the order of their names, with what the metrics tell of it, in a few statements
  // for all of them: jobs and workers by status, the oldest pending job, how many nobody can run.
  std::vector<Counted> overview();

  // Forgets lanes that hold no job any more.
  std::int64_t removeEmptyLanes(int limit);

 private:
  PoolLanes& readLanes(const PoolId& id);
  Result<Saved> save(const PoolId& id, const PoolSettings& given, std::shared_ptr<const Pool> old);
  std::shared_ptr<const Pool> decode(const SqlRows& row);
  // Of the jobs that nobody can run, those that are due, by pool; `lanes` have a placement and
  // pending jobs.
  struct PlacedLane {
    std::size_t pool;  // by its place in the overview
    std::int64_t id, pending;
    std::string placement;
    std::string host;  // that it is pinned to; empty: none
  };
  void countUnplaceable(const std::vector<PlacedLane>& lanes, std::vector<Counted>& pools);

  Session& s_;
};

}  // namespace muster

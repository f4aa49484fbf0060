#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "models/policy/turn_queue.h"
#include "models/store/sql/foresight.h"

namespace muster {

// What a session that writes knows of the turns in one pool.
struct PoolTurns {
  // The first jobs of a lane, as they are in the store. Kept until the claim ends; where others
  // write too these rows are locked, and are kept until the transaction ends.
  struct Heads {
    std::deque<JobRow> rows;
    bool all;  // there are no others that could be claimed
  };

  TurnQueue queue;
  bool outdated = false;  // another service made a lane meanwhile: to be read again
  std::unordered_map<std::int64_t, Placement> placements;  // of the lanes that have one
  std::unordered_map<std::int64_t, Heads> heads;           // of the lanes that were looked at
};

// The turns of the pools that have several lanes and were claimed from. Told of every change of a
// job, so that what it holds stays true; what it does not hold is read again.
class Turns {
 public:
  // `has_peers`: others write too, and make lanes that are not known here.
  explicit Turns(bool has_peers) : has_peers_(has_peers) {}
  bool empty() const { return pools_.empty(); }
  PoolTurns* find(const PoolId& pool);
  PoolTurns& add(const PoolId& pool, std::int64_t limit);
  void drop(const PoolId& pool) { pools_.erase(pool.str()); }
  void clear() { pools_.clear(); }

  void laneAdded(const PoolId& pool, std::int64_t lane, const std::string& tenant,
                 const Placement& placement, const std::string& pin = {});
  void jobReady(const PoolId& pool, std::int64_t lane, TurnQueue::Head head);
  // The same where the pin of the lane is known.
  void jobReady(const PoolId& pool, std::int64_t lane, TurnQueue::Head head,
                const std::string& pin);
  void jobGone(const JobRow& row);  // it is pending no more
  void placeFree(const PoolId& pool, const std::string& tenant);

 private:
  bool has_peers_;
  std::unordered_map<std::string, PoolTurns> pools_;
};

}  // namespace muster

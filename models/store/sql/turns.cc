#include "models/store/sql/turns.h"

namespace muster {
namespace {

// Lanes that anybody may serve are one group, whatever their pin; those of holders come behind
// them.
std::string groupOf(const std::string& pin) { return pin < "a" ? std::string() : pin; }

}  // namespace

PoolTurns* Turns::find(const PoolId& pool) {
  if (pools_.empty()) return nullptr;
  const auto known = pools_.find(pool.str());
  return known == pools_.end() ? nullptr : &known->second;
}

PoolTurns& Turns::add(const PoolId& pool, std::int64_t limit) {
  drop(pool);
  return pools_.emplace(pool.str(), PoolTurns{TurnQueue(limit), false, {}, {}}).first->second;
}

void Turns::laneAdded(const PoolId& pool, std::int64_t lane, const std::string& tenant,
                      const Placement& placement, const std::string& pin) {
  PoolTurns* turns = find(pool);
  if (turns == nullptr) return;
  // One of a group that nobody has claimed from is read when somebody does.
  const std::string group = groupOf(pin);
  if (!turns->queue.knowsGroup(group)) return;
  turns->queue.addLane(lane, tenant, group);
  if (!placement.empty()) turns->placements.emplace(lane, placement);
}

void Turns::jobReady(const PoolId& pool, std::int64_t lane, TurnQueue::Head head) {
  PoolTurns* turns = find(pool);
  if (turns == nullptr) return;
  if (!turns->queue.knows(lane)) {
    // Without others it can only be one of a group that nobody has claimed from.
    turns->outdated = turns->outdated || has_peers_;
    return;
  }
  turns->queue.offer(lane, head);
  const auto read = turns->heads.find(lane);
  if (read == turns->heads.end()) return;
  auto& [rows, all] = read->second;
  if (rows.empty() || head.before({rows.back().job.priority, rows.back().seq})) {
    turns->heads.erase(read);
  } else {
    all = false;
  }
}

void Turns::jobReady(const PoolId& pool, std::int64_t lane, TurnQueue::Head head,
                     const std::string& pin) {
  const PoolTurns* turns = find(pool);
  if (turns != nullptr && turns->queue.knowsGroup(groupOf(pin))) jobReady(pool, lane, head);
}

void Turns::jobGone(const JobRow& row) {
  PoolTurns* turns = find(row.job.pool);
  if (turns == nullptr) return;
  const auto read = turns->heads.find(row.lane);
  if (read == turns->heads.end()) return;
  std::erase_if(read->second.rows, [&](const JobRow& each) { return each.seq == row.seq; });
}

void Turns::placeFree(const PoolId& pool, const std::string& tenant) {
  if (PoolTurns* turns = find(pool)) turns->queue.free(tenant);
}

}  // namespace muster

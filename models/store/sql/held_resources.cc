#include "models/store/sql/held_resources.h"

#include <algorithm>
#include <unordered_set>

#include "models/store/sql/resource_refs.h"

namespace muster {
namespace {

constexpr int kCommandsAtOnce = 100;
constexpr int kIdleAtOnce = 1000;
constexpr int kWorkersAtOnce = 100;

constexpr Sql kHeldInState{MUSTER_SELECT_RESOURCE
                           "WHERE r.holder = $1 AND r.state = $2 AND " MUSTER_IS_HELD
                           "ORDER BY r.resource_seq LIMIT $3"};
constexpr Sql kHeldBetween{
    MUSTER_SELECT_RESOURCE
    "WHERE r.holder = $1 AND r.resource_seq > $2 AND r.resource_seq <= $3 AND " MUSTER_IS_HELD
    "ORDER BY r.resource_seq LIMIT $4"};
constexpr Sql kToBeRemoved{MUSTER_SELECT_RESOURCE
                           "WHERE r.holder = $1 AND r.state = 'evicting' AND " MUSTER_IS_HELD
                           "AND r.ref_count = 0 AND r.lease_count = 0 "
                           "ORDER BY r.resource_seq LIMIT $2"};
constexpr Sql kHeldIdle{MUSTER_SELECT_RESOURCE
                        "WHERE r.holder = $1 AND r.holder <> 'store' AND r.holder <> 'external' "
                        "AND r.state = 'active' AND r.ref_count = 0 AND r.lease_count = 0 "
                        "ORDER BY r.last_used_at, r.resource_seq LIMIT $2"};
constexpr Sql kHoldsSomething{"SELECT 1 FROM resources r WHERE r.holder = $1 AND " MUSTER_IS_HELD
                              "LIMIT 1"};
constexpr Sql kWorkerHolds{"UPDATE workers SET holds = 1 WHERE worker_id = $1 AND holds = 0"};
constexpr Sql kWorkerHoldsNothing{
    "UPDATE workers SET holds = 0, held_until = NULL WHERE worker_id = $1"};
constexpr Sql kWorkerHoldsUntil{"UPDATE workers SET held_until = $2 WHERE worker_id = $1"};
constexpr Sql kLeavingWorkers{
    "SELECT worker_id, held_until FROM workers WHERE held_until IS NOT NULL "
    "ORDER BY held_until LIMIT $1"};
constexpr Sql kHostHolds{
    "INSERT INTO hosts (host, holder, folder_id, data_dir, state, seen_at, lost_to, forgotten) "
    "VALUES ($1, $2, '', '', 'up', $3, 0, 0) ON CONFLICT (host) DO UPDATE SET state = 'up', "
    "away_at = NULL, seen_at = excluded.seen_at, forgotten = 0 "
    "WHERE hosts.state <> 'up' OR hosts.forgotten = 1"};

std::string holderOf(const WorkerId& worker) {
  return Holder{Holder::Kind::kWorker, worker.str()}.text();
}

}  // namespace

void HeldResources::noteHolder(Session& session, const Holder& holder) {
  if (holder.kind == Holder::Kind::kWorker) session.db.post(kWorkerHolds, holder.name);
  if (holder.kind == Holder::Kind::kHost) {
    session.db.post(kHostHolds, holder.name, holder.text(), session.now);
  }
}

bool HeldResources::makeStale(const std::string& holder) {
  auto found = ResourceRows::readAll(
      s_.db.query(kHeldInState, holder, name(ResourceState::kActive), left()));
  for (ResourceRow& row : found) {
    rows_.setState(row, ResourceState::kStale, "");
    rows_.emit(event_type::kResourceStale, row);
  }
  changed_ += static_cast<std::int64_t>(found.size());
  return left() > 0;
}

void HeldResources::recoverOne(ResourceRow& row) {
  rows_.setState(row, ResourceState::kActive, "");
  rows_.emit(event_type::kResourceRecovered, row);
  ++changed_;
}

bool HeldResources::recover(const std::string& holder) {
  auto found =
      ResourceRows::readAll(s_.db.query(kHeldInState, holder, name(ResourceState::kStale), left()));
  for (ResourceRow& row : found) recoverOne(row);
  return left() > 0;
}

void HeldResources::endOne(ResourceRow& row, AfterHolder after, std::string_view reason) {
  ++changed_;
  Resource& resource = row.resource;
  switch (after) {
    case AfterHolder::kEvicted: {
      const bool was_to_go = resource.state == ResourceState::kEvicting;
      rows_.evict(row, was_to_go ? std::string(resource.reason) : std::string(reason), true);
      return;
    }
    case AfterHolder::kCopied:
      rows_.moveToCopy(row);
      if (resource.state == ResourceState::kStale) recoverOne(row);
      return;
    case AfterHolder::kLost:
      rows_.lose(row, reason);
      // Readers that are left are ended by a duty (ExpireResources).
      if (resource.ref_count > 0) {
        changed_ += ResourceRefs(s_).endReaders(row.seq, std::max(left(), 1));
      }
  }
}

bool HeldResources::lose(const std::string& holder, std::string_view reason, std::int64_t to) {
  if (left() <= 0) return false;
  auto found = ResourceRows::readAll(s_.db.query(kHeldBetween, holder, 0, to, left()));
  for (ResourceRow& row : found) {
    if (left() <= 0) return false;
    endOne(row, judgeWithoutHolder(row.resource), reason);
  }
  return left() > 0;
}

void HeldResources::workerEnded(const Worker& worker, bool is_proven) {
  if (!worker.holds) return;
  const std::string holder = holderOf(worker.id);
  if (!is_proven) {
    makeStale(holder);
    s_.db.post(kWorkerHoldsUntil, worker.id, s_.now + s_.rules.affinities.grace);
  } else if (lose(holder, resource_reason::kWorkerLost)) {
    s_.db.post(kWorkerHoldsNothing, worker.id);
  } else {
    s_.db.post(kWorkerHoldsUntil, worker.id, s_.now);
  }
}

void HeldResources::workerRegistered(const Worker& before, std::span<const std::string> names) {
  if (!before.holds) return;
  const std::unordered_set<std::string> kept(names.begin(), names.end());
  const std::string holder = holderOf(before.id);
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  std::int64_t after = 0;
  for (;;) {
    auto found = ResourceRows::readAll(s_.db.query(kHeldBetween, holder, after, kAll, kStep));
    for (ResourceRow& row : found) {
      const Resource& resource = row.resource;
      after = row.seq;
      if (!kept.contains(resource.id) && !kept.contains(resource.uid)) {
        endOne(row, judgeWithoutHolder(resource), resource_reason::kNotHeld);
      } else if (resource.state == ResourceState::kStale) {
        recoverOne(row);
      }
    }
    if (found.size() < static_cast<std::size_t>(kStep)) break;
  }
  s_.db.post(kWorkerHoldsNothing, before.id);
  if (holdsSomething(holder)) s_.db.post(kWorkerHolds, before.id);
}

void HeldResources::workerForgotten(const Worker& worker) {
  if (!worker.holds) return;
  const std::string holder = holderOf(worker.id);
  while (!HeldResources(s_).lose(holder, resource_reason::kWorkerLost)) {
  }
}

bool HeldResources::holdsSomething(const std::string& holder) {
  return s_.db.query(kHoldsSomething, holder).next();
}

void HeldResources::removedBy(const WorkerId& worker, std::span<const std::string> names) {
  const Holder holder{Holder::Kind::kWorker, worker.str()};
  for (const std::string& each : names) {
    auto row = rows_.find(each);
    if (!row || !isLiving(row->resource.state) || row->resource.holder != holder) continue;
    const AfterHolder after = judgeRemoved(row->resource);
    endOne(*row, after,
           after == AfterHolder::kLost ? resource_reason::kNotHeld : resource_reason::kReleased);
  }
  if (changed_ > 0 && !holdsSomething(holder.text())) s_.db.post(kWorkerHoldsNothing, worker);
}

void HeldResources::relieve(const std::string& holder, std::int64_t in_use, std::int64_t limit,
                            Size size) {
  const Watermarks marks = s_.rules.resources.watermarks();
  if (!isAboveHighWatermark(in_use, limit, marks)) return;
  std::int64_t leaving = 0;
  for (const Resource& resource : evicting(holder, kIdleAtOnce)) {
    if (!(resource.*size)) return;  // the next report tells what that brings
    leaving += *(resource.*size);
  }
  const std::int64_t bytes = bytesToFree(in_use, leaving, limit, marks);
  if (bytes == 0) return;
  auto idle = ResourceRows::readAll(s_.db.query(kHeldIdle, holder, kIdleAtOnce));
  std::vector<std::optional<std::int64_t>> sizes;
  sizes.reserve(idle.size());
  for (const ResourceRow& row : idle) sizes.push_back(row.resource.*size);
  idle.resize(countToEvict(sizes, bytes));
  for (ResourceRow& row : idle) rows_.evict(row, resource_reason::kPressure);
  changed_ += static_cast<std::int64_t>(idle.size());
}

void HeldResources::relieveWorker(const WorkerId& worker, std::int64_t mem_bytes) {
  relieve(holderOf(worker), mem_bytes, s_.rules.resources.max_mem_bytes, &Resource::mem_bytes);
}

void HeldResources::relieveHost(const std::string& holder, std::int64_t disk_bytes,
                                std::int64_t limit) {
  relieve(holder, disk_bytes, limit, &Resource::size_bytes);
}

std::vector<Resource> HeldResources::evicting(const std::string& holder, int most) {
  std::vector<Resource> found;
  for (ResourceRow& row : ResourceRows::readAll(s_.db.query(kToBeRemoved, holder, most))) {
    found.push_back(std::move(row.resource));
  }
  return found;
}

std::vector<ResourceCommand> HeldResources::commandsOf(const WorkerId& worker) {
  return commandsFor(evicting(holderOf(worker), kCommandsAtOnce));
}

bool HeldResources::tendWorkers() {
  std::vector<std::pair<WorkerId, Time>> leaving;
  {
    auto rows = s_.db.query(kLeavingWorkers, kWorkersAtOnce);
    while (rows.next()) leaving.emplace_back(WorkerId(rows->string(0)), rows->time(1));
  }
  for (const auto& [worker, until] : leaving) {
    if (left() <= 0) return false;
    const std::string holder = holderOf(worker);
    if (until > s_.now) {
      makeStale(holder);
    } else if (lose(holder, resource_reason::kWorkerLost)) {
      s_.db.post(kWorkerHoldsNothing, worker);
    }
  }
  return left() > 0;
}

}  // namespace muster

#include "models/store/sql/pinned_work.h"

#include <algorithm>

#include "models/policy/resource_pressure.h"
#include "models/policy/staleness.h"
#include "models/worker.h"

namespace muster {
namespace {

constexpr Sql kPlacesOfWorkers{
    "SELECT w.worker_id, w.status, w.slots, w.last_heartbeat, "
    "(SELECT count(*) FROM jobs j WHERE j.claimed_by = w.worker_id AND j.status = 'claimed'), "
    "w.disk_bytes_in_use, w.mem_bytes_in_use "
    "FROM workers w WHERE w.pool_id = $1 AND w.ended_at IS NULL AND w.mode = 'loop'"};

}  // namespace

void PinnedWork::read() {
  if (is_read_) return;
  is_read_ = true;
  auto rows = s_.db.query(kPlacesOfWorkers, pool_.id);
  while (rows.next()) {
    const std::string_view status = rows->text(1);
    const bool is_going =
        status == worker_status::kTerminating || status == worker_status::kStarting;
    if (is_going || isStale(rows->time(3), pool_.settings.staleAfter(), s_.now)) continue;
    const ResourceUse use{rows->maybeInteger(5), rows->maybeInteger(6)};
    if (isOverLimit(use, s_.rules.resources.workerLimits())) continue;
    free_[rows->string(0)] = std::max<std::int64_t>(rows->integer(2) - rows->integer(4), 0);
  }
}

std::int64_t PinnedWork::take(const std::string& worker, std::int64_t due) {
  read();
  const auto free = free_.find(worker);
  if (free == free_.end()) return 0;
  const std::int64_t taken = std::min(free->second, due);
  free->second -= taken;
  if (taken > 0) taken_[worker] += taken;
  return taken;
}

}  // namespace muster

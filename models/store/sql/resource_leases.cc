#include "models/store/sql/resource_leases.h"

#include <map>

namespace muster {
namespace {

constexpr Sql kLeaseBy{
    "SELECT lease_id FROM resource_leases "
    "WHERE resource_seq = $1 AND worker_id = $2 AND job_seq = $3 AND attempt = $4 LIMIT 1"};
constexpr Sql kInsertResourceLease{
    "INSERT INTO resource_leases (lease_id, resource_seq, worker_id, job_seq, attempt, expires_at) "
    "VALUES ($1, $2, $3, $4, $5, $6)"};
constexpr Sql kProlongLease{"UPDATE resource_leases SET expires_at = $2 WHERE lease_id = $1"};
constexpr Sql kReleaseLease{
    "DELETE FROM resource_leases WHERE lease_id = $1 AND resource_seq = $2"};
constexpr Sql kMarkLeases{"UPDATE jobs SET links = coalesce(links, 0) | $2 WHERE seq = $1"};
constexpr Sql kEndLeasesOfWorker{
    "DELETE FROM resource_leases WHERE worker_id = $1 AND worker_id <> '' RETURNING resource_seq"};
constexpr Sql kEndDueLeases{
    "DELETE FROM resource_leases WHERE lease_id IN (SELECT lease_id FROM resource_leases "
    "WHERE expires_at IS NOT NULL AND expires_at <= $1 ORDER BY expires_at LIMIT $2) "
    "RETURNING resource_seq"};

}  // namespace

std::string ResourceLeases::take(ResourceRow& row, const By& by, std::optional<Time> until) {
  if (!by.worker.empty() || by.job != 0) {
    std::string known;
    {
      auto rows = s_.db.query(kLeaseBy, row.seq, by.worker, by.job, by.attempt);
      if (rows.next()) known = rows->string(0);
    }
    if (!known.empty()) {
      s_.db.post(kProlongLease, known, until);
      return known;
    }
  }
  std::string id = "l-" + s_.ids.next(s_.now);
  s_.db.post(kInsertResourceLease, id, row.seq, by.worker, by.job, by.attempt, until);
  if (by.job != 0) s_.db.post(kMarkLeases, by.job, job_link::kHasLeases);
  ResourceRows(s_).addUses(row, 0, 1);
  return id;
}

bool ResourceLeases::release(ResourceRow& row, const std::string& lease) {
  if (s_.db.execute(kReleaseLease, lease, row.seq) == 0) return false;
  ResourceRows(s_).addUses(row, 0, -1);
  return true;
}

void ResourceLeases::endOfWorker(const std::string& worker) {
  end(s_.db.query(kEndLeasesOfWorker, worker));
}

std::int64_t ResourceLeases::endDue(int limit) {
  return end(s_.db.query(kEndDueLeases, s_.now, limit));
}

// In one order of resources, so that units beside each other do not wait in a circle.
std::int64_t ResourceLeases::end(SqlCursor ended) {
  std::map<std::int64_t, std::int64_t> by_resource;
  std::int64_t count = 0;
  for (; ended.next(); ++count) by_resource[ended->integer(0)] += 1;
  ResourceRows resources(s_);
  for (const auto& [seq, leases] : by_resource) {
    if (auto row = resources.at(seq)) resources.addUses(*row, 0, -leases);
  }
  return count;
}

}  // namespace muster

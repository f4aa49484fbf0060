#include "models/store/sql/resource_access.h"

#include "models/store/sql/hosts.h"
#include "models/store/sql/workers.h"

namespace muster {
namespace {

constexpr std::string_view kJobScope = "job:", kFlowScope = "flow:";
constexpr std::chrono::seconds kAskAgain{5};

constexpr Sql kReadsResource{
    "SELECT 1 FROM job_refs f CROSS JOIN jobs j WHERE f.resource_seq = $1 AND j.seq = f.job_seq "
    "AND j.status = 'claimed' AND j.claimed_by = $2 LIMIT 1"};
constexpr Sql kHostOfWorker{"SELECT host FROM workers WHERE worker_id = $1 AND host IS NOT NULL"};
constexpr Sql kHasJob{
    "SELECT 1 FROM jobs WHERE id = $1 AND status = 'claimed' AND claimed_by = $2"};
constexpr Sql kHasJobOfFlow{
    "SELECT 1 FROM jobs j CROSS JOIN flow_jobs f CROSS JOIN flows w WHERE j.claimed_by = $2 "
    "AND j.status = 'claimed' AND f.seq = j.seq AND w.flow_seq = f.flow_seq AND w.flow_id = $1 "
    "LIMIT 1"};

tl::unexpected<Error> unavailable(std::string detail) {
  Error error{ErrorCode::kUnavailable, std::move(detail)};
  error.retry_after = kAskAgain;
  return tl::unexpected(std::move(error));
}

}  // namespace

std::string ResourceAccess::hostOf(const std::string& worker) {
  auto rows = s_.db.query(kHostOfWorker, worker);
  return rows.next() ? rows->string(0) : std::string();
}

bool ResourceAccess::isUp(const std::string& host) {
  return Hosts(s_).stateOf(host) == HostState::kUp;
}

bool ResourceAccess::sees(const ResourceCaller& by, const ResourceRow& row) {
  const Resource& resource = row.resource;
  if (by.worker.empty() || resource.worker == by.worker) return true;
  if (resource.holder.kind == Holder::Kind::kHost && resource.host == hostOf(by.worker))
    return true;
  if (resource.ref_count == 0) return false;
  return s_.db.query(kReadsResource, row.seq, by.worker).next();
}

Result<ResourceRow> ResourceAccess::find(const ResourceName& name, const ResourceCaller& by) {
  auto row = ResourceRows(s_).find(name);
  if (!row || !sees(by, *row)) return noResource(name);
  return *std::move(row);
}

bool ResourceAccess::ownsScope(const std::string& worker, std::string_view scope) {
  if (scope.starts_with(kJobScope)) {
    return s_.db.query(kHasJob, scope.substr(kJobScope.size()), worker).next();
  }
  if (!scope.starts_with(kFlowScope)) return false;
  return s_.db.query(kHasJobOfFlow, scope.substr(kFlowScope.size()), worker).next();
}

Status ResourceAccess::place(Resource& resource, const ResourceCaller& by) {
  const Holder& holder = resource.holder;
  resource.worker = by.worker;
  if (holder.kind == Holder::Kind::kHost) {
    if (!by.worker.empty() && hostOf(by.worker) != holder.name) {
      return fail(ErrorCode::kForbidden, "a worker registers what its own host holds");
    }
    if (!isUp(holder.name)) return unavailable("host '" + holder.name + "' is not there");
    resource.host = holder.name;
  }
  if (holder.kind == Holder::Kind::kWorker) {
    if (!by.worker.empty() && by.worker != holder.name) {
      return fail(ErrorCode::kForbidden, "a worker registers what it holds itself");
    }
    const auto worker = Workers(s_).find(WorkerId(holder.name));
    if (!worker || worker->status != worker_status::kActive) {
      return unavailable("worker '" + holder.name + "' is " +
                         (worker ? worker->status : std::string("not known")));
    }
    if (worker->mode != "loop") {
      return tl::unexpected(
          Error{ErrorCode::kInvalid,
                "the resource cannot be registered",
                {{"/holder", "holder_too_short_lived",
                  "worker '" + holder.name + "' ends with its job: it is not in the mode loop"}}});
    }
    resource.worker = holder.name;
    resource.host = worker->host;
  }
  return {};
}

}  // namespace muster

#include "models/store/sql/resource_refs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/store/sql/flow_rows.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pins.h"

namespace muster {
namespace {

constexpr Sql kInsertRef{
    "INSERT INTO job_refs (job_seq, resource_seq, name, is_input) VALUES ($1, $2, $3, $4) "
    "ON CONFLICT (job_seq, resource_seq, name) DO NOTHING"};
constexpr Sql kRefsOfMoved{
    "SELECT f.job_seq, f.resource_seq FROM /*numbers $1*/ d CROSS JOIN job_refs f "
    "WHERE f.job_seq = d.c0"};
constexpr Sql kArtifactsOfMoved{
    "SELECT a.resource_seq FROM /*numbers $1*/ d CROSS JOIN artifacts a "
    "CROSS JOIN resources r WHERE a.job_seq = d.c0 AND a.attempt > 0 "
    "AND r.resource_seq = a.resource_seq AND r.ttl_ms IS NULL"};
constexpr Sql kRemoveRefs{
    "DELETE FROM job_refs WHERE job_seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
constexpr Sql kRemoveArtifacts{
    "DELETE FROM artifacts WHERE job_seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
constexpr Sql kForgetInputs{
    "DELETE FROM job_refs WHERE is_input = 1 "
    "AND job_seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
// PostgreSQL only: before counts change, all rows that are going to, in one order.
constexpr Sql kLockResources{
    "SELECT r.resource_seq FROM resources r WHERE r.resource_seq IN "
    "(SELECT c0 FROM /*numbers $1*/ d) /*lock_by r.resource_seq*/"};
constexpr Sql kEndLeasesOfTries{
    "DELETE FROM resource_leases WHERE job_seq <> 0 "
    "AND job_seq IN (SELECT c0 FROM /*numbers $1*/ d) RETURNING resource_seq"};
// $1: number, what is added to refs and leases.
constexpr Sql kMoveUses{
    "WITH held AS MATERIALIZED (SELECT d.* FROM /*rows $1 3*/ d CROSS JOIN resources r "
    "WHERE r.resource_seq = d.c0 /*lock_by r.resource_seq*/) "
    "UPDATE resources SET ref_count = ref_count + held.c1, lease_count = lease_count + held.c2, "
    "expires_at = CASE WHEN state = 'active' AND ref_count + held.c1 = 0 "
    "AND lease_count + held.c2 = 0 THEN $2 + ttl_ms END, last_used_at = $2, "
    "version = version + 1 FROM held WHERE resources.resource_seq = held.c0 "
    "RETURNING resources.resource_seq, resources.state, resources.ref_count, "
    "resources.lease_count"};
constexpr Sql kLinkJob{
    "UPDATE jobs SET links = coalesce(links, 0) | CAST($2 AS BIGINT) WHERE seq = $1"};
constexpr Sql kRefsOfJobs{"SELECT " MUSTER_RESOURCE_COLUMNS
                          ", f.job_seq FROM /*numbers $1*/ d CROSS JOIN job_refs f "
                          "CROSS JOIN resources r WHERE f.job_seq = d.c0 AND f.is_input = 0 "
                          "AND r.resource_seq = f.resource_seq"};
constexpr Sql kInputsOfJobs{"SELECT " MUSTER_RESOURCE_COLUMNS
                            ", f.job_seq, f.name FROM /*numbers $1*/ d CROSS JOIN job_refs f "
                            "CROSS JOIN resources r WHERE f.job_seq = d.c0 "
                            "AND r.resource_seq = f.resource_seq"};
constexpr int kJobOfRefColumn = 31, kNameOfRefColumn = 32;
// A job that has the resource under two names is found twice.
constexpr Sql kWaitingReaders{"SELECT " MUSTER_JOB_COLUMNS
                              " FROM job_refs f CROSS JOIN jobs j WHERE f.resource_seq = $1 "
                              "AND j.seq = f.job_seq AND j.status IN ('blocked', 'pending') "
                              "LIMIT $2"};
// Evictions change rows that many resources have in common (of blobs, tenants and counts), so on
// PostgreSQL units that make some do so one after the other. The number is arbitrary.
constexpr Sql kLockEvictions{"SELECT pg_advisory_xact_lock(7815279120119)"};

FieldError faultOf(const std::string& pointer, RefFault fault, const Resource& resource) {
  switch (fault) {
    case RefFault::kOtherTenant:
      return {pointer, "other_tenant",
              fmt::format("resource '{}' belongs to another tenant", resource.id)};
    case RefFault::kNotStored:
      return {pointer, "not_stored",
              fmt::format("resource '{}' is still being uploaded", resource.id)};
    case RefFault::kGone:
      break;
  }
  return {pointer, "resource_evicted", resourceGone(resource).value().detail};
}

Error errorOf(RefFault fault, const Resource& resource, FieldError field) {
  if (fault == RefFault::kOtherTenant) {
    return {ErrorCode::kInvalid, "a job cannot refer to it", {std::move(field)}};
  }
  const bool is_gone = fault == RefFault::kGone;
  Error error = is_gone ? resourceGone(resource).value() : notStored(resource).value();
  error.fields = {std::move(field)};
  return error;
}

}  // namespace

const std::optional<ResourceRow>& ResourceRefs::known(const std::string& name) {
  const auto found = known_.find(name);
  if (found != known_.end()) return found->second;
  return known_.emplace(name, ResourceRows(s_).find(name)).first->second;
}

Result<std::vector<ResourceRefs::Found>> ResourceRefs::resolve(const Pool& pool, const NewJob& job,
                                                               const std::string& tenant,
                                                               const std::string& pointer) {
  std::vector<Found> all;
  if (job.refs.empty()) return all;
  settle();  // the number of a job that is gone may be had by another
  std::vector<NamelessRef> nameless;
  std::vector<FieldError> faults;
  for (std::size_t i = 0; i < job.refs.size(); ++i) {
    const ResourceRef& ref = job.refs[i];
    const std::string at = fmt::format("{}/resource_refs/{}", pointer, i);
    Found found{i};
    if (const auto& row = known(ref.resource)) {
      if (const auto fault = refFault(row->resource, tenant, s_.now)) {
        FieldError field = faultOf(at, *fault, row->resource);
        if (*fault != RefFault::kOtherTenant) {
          return tl::unexpected(errorOf(*fault, row->resource, std::move(field)));
        }
        faults.push_back(std::move(field));
      }
      found.row = *row;
    } else if (*pool.settings.strict_refs) {
      faults.push_back({at, "unknown_resource",
                        fmt::format("nobody registered a resource '{}', and the pool has "
                                    "strict_refs",
                                    ref.resource)});
    }
    nameless.push_back({found.isRegistered() ? found.row.resource.id : ref.resource, ref.as});
    all.push_back(std::move(found));
  }
  const auto names = namesOfRefs(nameless);
  std::map<std::string, std::string> resource_of;
  for (Found& found : all) {
    found.as = names[found.index];
    const std::string& resource =
        found.isRegistered() ? found.row.resource.uid : job.refs[found.index].resource;
    const auto [other, is_first] = resource_of.try_emplace(found.as, resource);
    if (is_first || other->second == resource) continue;
    faults.push_back({fmt::format("{}/resource_refs/{}/as", pointer, found.index), "duplicate_name",
                      fmt::format("the job has another resource under the name '{}'", found.as)});
  }
  if (faults.empty()) return all;
  return tl::unexpected(
      Error{ErrorCode::kInvalid, "the job cannot refer to these", std::move(faults)});
}

bool ResourceRefs::keepsAny(std::span<const Found> refs) {
  return std::any_of(refs.begin(), refs.end(), [](const Found& f) { return f.isRegistered(); });
}

void ResourceRefs::add(std::int64_t job, std::span<const Found> refs, bool lives) {
  std::map<std::pair<std::int64_t, std::string>, bool> kept;
  for (const Found& found : refs) {
    if (!found.isRegistered() || !kept.try_emplace({found.row.seq, found.as}, true).second) {
      continue;
    }
    s_.db.post(kInsertRef, job, found.row.seq, found.as, 0);
    if (lives) s_.refs_added.push_back(found.row.seq);
  }
}

void ResourceRefs::addInputs(std::int64_t job, std::span<const InputRefs::Ref> inputs) {
  if (inputs.empty()) return;
  for (const InputRefs::Ref& input : inputs) {
    if (s_.db.execute(kInsertRef, job, input.resource, input.as, 1) > 0) {
      s_.refs_added.push_back(input.resource);
    }
  }
  s_.db.post(kLinkJob, job, job_link::kHasRefs);
  Pins(s_).placeReader(job);
}

void ResourceRefs::forgetInputs(std::span<const std::int64_t> jobs) {
  s_.db.post(kForgetInputs, numberList(jobs));
}

Status ResourceRefs::checkLivesAgain(std::int64_t job) {
  auto rows = s_.db.query(kRefsOfJobs, numberList({&job, 1}));
  while (rows.next()) {
    const Resource resource = ResourceRows::read(*rows).resource;
    if (refFault(resource, resource.tenant, s_.now)) return resourceGone(resource);
  }
  return {};
}

std::vector<std::int64_t> ResourceRefs::goneAmong(std::span<const std::int64_t> jobs) {
  std::vector<std::int64_t> gone;
  auto rows = s_.db.query(kRefsOfJobs, numberList(jobs));
  while (rows.next()) {
    const Resource resource = ResourceRows::read(*rows).resource;
    if (refFault(resource, resource.tenant, s_.now)) {
      gone.push_back(rows->integer(kJobOfRefColumn));
    }
  }
  std::sort(gone.begin(), gone.end());
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  return gone;
}

// What is added to the uses of a resource.
struct ResourceRefs::Uses {
  std::int64_t refs = 0, leases = 0;
};

// Also removes what belongs to jobs that are gone, and adds their artifacts to `dropped`.
std::map<std::int64_t, ResourceRefs::Uses> ResourceRefs::gather(
    std::vector<std::int64_t>& dropped) {
  std::map<std::int64_t, Uses> uses;
  for (const std::int64_t resource : std::exchange(s_.refs_added, {})) uses[resource].refs += 1;
  if (const auto over = std::exchange(s_.leases_over, {}); !over.empty()) {
    auto rows = s_.db.query(kEndLeasesOfTries, numberList(over));
    while (rows.next()) uses[rows->integer(0)].leases -= 1;
  }
  std::map<std::int64_t, std::int64_t> by_job;
  std::vector<std::int64_t> jobs, gone;
  for (const Session::MovedRefs& job : std::exchange(s_.refs_moved, {})) {
    by_job[job.job] += job.by;
    if (job.gone) gone.push_back(job.job);
  }
  for (const auto& [job, by] : by_job) {
    if (by != 0) jobs.push_back(job);
  }
  if (!jobs.empty()) {
    auto rows = s_.db.query(kRefsOfMoved, numberList(jobs));
    while (rows.next()) uses[rows->integer(1)].refs += by_job.at(rows->integer(0));
  }
  if (gone.empty()) return uses;
  const std::string list = numberList(gone);
  {
    auto rows = s_.db.query(kArtifactsOfMoved, list);
    while (rows.next()) dropped.push_back(rows->integer(0));
  }
  s_.db.post(kRemoveRefs, list);
  s_.db.post(kRemoveArtifacts, list);
  return uses;
}

void ResourceRefs::settle() {
  if (s_.refs_moved.empty() && s_.refs_added.empty() && s_.artifacts_dropped.empty() &&
      s_.leases_over.empty()) {
    return;
  }
  std::vector<std::int64_t> dropped = std::exchange(s_.artifacts_dropped, {});
  const auto uses = gather(dropped);
  if (s_.db.hasPeers() && !dropped.empty()) {
    std::vector<std::int64_t> all = dropped;
    for (const auto& [resource, added] : uses) all.push_back(resource);
    auto rows = s_.db.query(kLockResources, numberList(all));
    while (rows.next()) continue;
  }
  NumberRows list;
  for (const auto& [resource, added] : uses) {
    if (added.refs != 0 || added.leases != 0) list.add(resource, added.refs, added.leases);
  }
  std::vector<std::int64_t> over;  // waited for their last user
  if (!list.empty()) {
    auto rows = s_.db.query(kMoveUses, list.text(), s_.now);
    while (rows.next()) {
      const bool is_evicting = rows->text(1) == name(ResourceState::kEvicting);
      if (is_evicting && rows->integer(2) == 0 && rows->integer(3) == 0) {
        over.push_back(rows->integer(0));
      }
    }
  }
  evict(std::move(dropped), std::move(over));
}

void ResourceRefs::evict(std::vector<std::int64_t> dropped, std::vector<std::int64_t> over) {
  if (over.empty() && dropped.empty()) return;
  if (s_.db.hasPeers()) s_.db.post(kLockEvictions);
  for (std::vector<std::int64_t>* each : {&over, &dropped}) {
    std::sort(each->begin(), each->end());
    each->erase(std::unique(each->begin(), each->end()), each->end());
  }
  ResourceRows resources(s_);
  for (const std::int64_t seq : dropped) {
    if (auto row = resources.at(seq)) resources.evict(*row, resource_reason::kReleased);
  }
  for (const std::int64_t seq : over) {
    auto row = resources.at(seq);
    // What a host or a worker holds is evicted when it says that it has removed it.
    if (row && !isHeldElsewhere(row->resource)) resources.endEvicting(*row);
  }
}

void ResourceRefs::attach(std::span<JobRow> rows) {
  std::map<std::int64_t, JobRow*> of;
  std::vector<std::int64_t> jobs;
  for (JobRow& row : rows) {
    if ((row.links & job_link::kHasRefs) == 0) continue;
    of.emplace(row.seq, &row);
    jobs.push_back(row.seq);
  }
  if (jobs.empty()) return;
  auto found = s_.db.query(kInputsOfJobs, numberList(jobs));
  while (found.next()) {
    of.at(found->integer(kJobOfRefColumn))
        ->job.inputs.push_back(
            {found->string(kNameOfRefColumn), ResourceRows::read(*found).resource});
  }
  for (const auto& [job, row] : of) {
    std::sort(row->job.inputs.begin(), row->job.inputs.end(),
              [](const JobInput& a, const JobInput& b) { return a.as < b.as; });
  }
}

std::vector<JobInput> ResourceRefs::inputsOf(std::int64_t job) {
  JobRow row;
  row.seq = job;
  row.links = job_link::kHasRefs;
  attach({&row, 1});
  return std::move(row.job.inputs);
}

int ResourceRefs::endReaders(std::int64_t resource, int most) {
  auto rows = Jobs::readAll(s_.db.query(kWaitingReaders, resource, most));
  std::sort(rows.begin(), rows.end(),
            [](const JobRow& a, const JobRow& b) { return a.seq < b.seq; });
  const auto same = [](const JobRow& a, const JobRow& b) { return a.seq == b.seq; };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  for (JobRow& row : rows) Jobs(s_).poisonWaiting(row, "resource_lost");
  return static_cast<int>(rows.size());
}

}  // namespace muster

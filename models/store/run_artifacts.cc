#include <string>
#include <utility>

#include "models/json/artifact_json.h"
#include "models/json/resource_json.h"
#include "models/operations/artifacts.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/job_artifacts.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/resource_rows.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr std::size_t kMostArtifactName = 256;
constexpr Sql kRenameResource{"UPDATE resources SET resource_id = $2 WHERE resource_seq = $1"};
constexpr Sql kKeepWithJob{
    "UPDATE resources SET ttl_ms = NULL, expires_at = NULL WHERE resource_seq = $1"};

std::string scopeOf(const JobRow& job, Store& store) {
  if ((job.links & job_link::kInFlow) != 0) {
    if (const auto flow = FlowRows(store.session).ofJob(job.seq)) {
      return "flow:" + flow->flow.id.str();
    }
  }
  return "job:" + job.job.id.str();
}

// The same was asked for in this try, and its answer was lost. Content that is complete is the
// same only if its sum is.
bool repeats(const StoredArtifact& known, const ResourceRow& row, const JobRow& job,
             const NewResource& wanted) {
  return known.attempt == job.job.attempts && row.body_hash == hashText(wanted) &&
         (row.resource.state == ResourceState::kUploading ||
          (row.resource.state == ResourceState::kActive && !wanted.sha256.empty()));
}

// What is kept of a job that is poisoned; the others have it in their results.
std::string itemsOf(const JobRow& row, Store& store) {
  if (row.job.status == JobStatus::kPoisoned && (row.links & job_link::kHasArtifacts) != 0) {
    return mergeArtifacts("", JobArtifacts(store.session).of(row.seq));
  }
  return row.job.artifacts;
}

}  // namespace

Result<Resource> run(const RegisterArtifact& op, Store& store) {
  const auto held = store.jobs().hold(op.job, false);
  if (!held) return tl::unexpected(noJob(op.job));
  const Reporter by{op.lease_token, ""};
  if (op.lease_token.empty() || !Jobs::holds(*held, by)) {
    return tl::unexpected(store.jobs().refuse(*held, by));
  }
  if (op.name.size() > kMostArtifactName || !isSlashedName(op.name)) {
    return tl::unexpected(
        Error{ErrorCode::kInvalid,
              "the artifact cannot have this name",
              {{"/name", "format",
                "must be 1 to 256 of letters, digits and ._~:/-, without an empty, . or .. "
                "between slashes"}}});
  }
  NewResource wanted = op.resource;
  wanted.id = "jobs/" + op.job.str() + "/" + op.name;
  wanted.scope = scopeOf(*held, store);
  wanted.tenant = held->job.tenant;

  SqlConnection& db = store.session.db;
  ResourceRows resources(store.session);
  JobArtifacts artifacts(store.session);
  const auto known = artifacts.find(held->seq, op.name);
  auto before = known ? resources.find(known->resource.uid) : std::nullopt;
  if (before && !isLiving(before->resource.state)) before.reset();
  if (before) {
    if (repeats(*known, *before, *held, wanted)) {
      resources.countUses(*before);
      return std::move(before->resource);
    }
    db.post(kRenameResource, before->seq, before->resource.uid);
  }
  auto made = run(RegisterResource{wanted, op.by}, store);
  if (!made) {
    if (before) db.post(kRenameResource, before->seq, before->resource.id);
    return tl::unexpected(std::move(made).error());
  }
  if (before) {
    resources.evict(*before, resource_reason::kReplaced);
    const bool is_gone = !isLiving(before->resource.state);
    if (is_gone) db.post(kRenameResource, before->seq, before->resource.id);
  }
  const auto row = resources.find(made->resource.uid);
  if (!wanted.ttl && !wanted.expires_at) db.post(kKeepWithJob, row->seq);
  artifacts.put(*held, op.name, row->seq);
  return std::move(resources.at(row->seq)->resource);
}

Result<ListArtifacts::Reply> run(const ListArtifacts& op, Store& store) {
  const auto job = store.jobs().load(op.job, true);
  if (!job) return tl::unexpected(noJob(op.job));
  const std::string items = itemsOf(*job, store);
  return ListArtifacts::Reply{items.empty() ? "[]" : items};
}

Result<FindArtifact::Reply> run(const FindArtifact& op, Store& store) {
  const auto job = store.jobs().load(op.job, true);
  if (!job) return tl::unexpected(noJob(op.job));
  const auto found = findArtifact(itemsOf(*job, store), op.name);
  if (!found) {
    return fail(ErrorCode::kNotFound, "job " + op.job.str() + " has no artifact '" + op.name + "'");
  }
  if (found->value) {
    // A worker has the values that its jobs wait for in its claim, and sees no others.
    if (op.by.worker.empty()) return FindArtifact::Reply{*found->value, ""};
    return fail(ErrorCode::kNotFound, "job " + op.job.str() + " has no artifact '" + op.name +
                                          "' that this worker may read");
  }
  if (!found->uid.empty()) return FindArtifact::Reply{"", found->uid};
  return fail(
      ErrorCode::kNotStored,
      "artifact '" + op.name + "' is a reference" +
          (found->resource.empty() ? std::string() : " to the resource '" + found->resource + "'"));
}

}  // namespace muster

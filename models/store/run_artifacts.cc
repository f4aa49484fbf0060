#include "models/json/artifact_json.h"
#include "models/operations/artifacts.h"
#include "models/store/sql/job_sql.h"
#include "models/store/store.h"

namespace muster {

Result<ListArtifacts::Reply> run(const ListArtifacts& op, Store& store) {
  const auto job = store.jobs().find(op.job);
  if (!job) return tl::unexpected(noJob(op.job));
  return ListArtifacts::Reply{job->artifacts.empty() ? "[]" : job->artifacts};
}

Result<FindArtifact::Reply> run(const FindArtifact& op, Store& store) {
  const auto job = store.jobs().find(op.job);
  if (!job) return tl::unexpected(noJob(op.job));
  const auto found = findArtifact(job->artifacts, op.name);
  if (!found) {
    return fail(ErrorCode::kNotFound, "job " + op.job.str() + " has no artifact '" + op.name + "'");
  }
  if (!found->value) {
    return fail(ErrorCode::kNotStored,
                "artifact '" + op.name + "' is a reference" +
                    (found->resource.empty() ? std::string()
                                             : " to the resource '" + found->resource + "'"));
  }
  return FindArtifact::Reply{*found->value, ""};
}

}  // namespace muster

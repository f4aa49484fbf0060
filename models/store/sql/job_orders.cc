// Jobs at an operator's word: cancelled, tried again, removed.
#include "models/json/json_writer.h"
#include "models/store/sql/circuits.h"
#include "models/store/sql/flow_retrying.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/flow_settling.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/resource_refs.h"

namespace muster {
namespace {

constexpr Sql kCancelWaiting{
    "UPDATE jobs SET status = 'cancelled', delayed = 0, finished_at = $2, reason = $3, "
    "version = version + 1 WHERE seq = $1 AND status IN ('blocked', 'pending')"};
constexpr Sql kPoisonWaiting{
    "UPDATE jobs SET status = 'poisoned', delayed = 0, finished_at = $2, reason = $3, "
    "version = version + 1 WHERE seq = $1 AND status IN ('blocked', 'pending')"};
constexpr Sql kRequestCancel{
    "UPDATE jobs SET cancel_requested = 1, reason = $2, version = version + 1 "
    "WHERE seq = $1 AND status = 'claimed'"};
constexpr Sql kRetry{
    "UPDATE jobs SET status = 'pending', delayed = 0, attempts = 0, available_at = $2, "
    "expires_at = NULL, finished_at = NULL, cancel_requested = 0, error = NULL, reason = NULL, "
    "version = version + 1 WHERE seq = $1 AND status IN ('poisoned', 'cancelled')"};
constexpr Sql kLivingTwin{
    "SELECT id FROM jobs WHERE pool_id = $1 AND unique_key = $2 "
    "AND status IN ('blocked', 'pending', 'claimed')"};
constexpr Sql kDeleteJob{"DELETE FROM jobs WHERE seq = $1"};
constexpr Sql kDeletePayload{"DELETE FROM job_payloads WHERE seq = $1"};
constexpr Sql kDeleteResult{"DELETE FROM job_results WHERE seq = $1"};
constexpr Sql kDeleteAttempts{"DELETE FROM attempts WHERE seq = $1"};
constexpr Sql kDeletePin{"DELETE FROM job_pins WHERE seq = $1"};
constexpr Sql kDeleteCallback{"DELETE FROM flow_callbacks WHERE seq = $1"};

}  // namespace

void Jobs::cancelWaiting(Row& row, std::string_view event, const std::string& reason) {
  Job& job = row.job;
  s_.db.post(kCancelWaiting, row.seq, s_.now, reason);
  s_.countMove(row, job.status, JobStatus::kCancelled);
  job.status = JobStatus::kCancelled;
  job.finished_at = s_.now;
  job.reason = reason;
  job.version += 1;
  emit(event, row);
}

void Jobs::poisonWaiting(Row& row, std::string_view reason) {
  Job& job = row.job;
  s_.db.post(kPoisonWaiting, row.seq, s_.now, reason);
  s_.countMove(row, job.status, JobStatus::kPoisoned);
  job.status = JobStatus::kPoisoned;
  job.finished_at = s_.now;
  job.reason = reason;
  job.version += 1;
  emit(event_type::kJobPoisoned, row,
       JsonWriter().beginObject().field("reason", reason).endObject().take());
}

Result<Job> Jobs::cancel(const JobId& id, const std::string& reason) {
  auto row = hold(id, true);
  if (!row) return tl::unexpected(noJob(id));
  Job& job = row->job;
  const std::string why = reason.empty() ? "cancelled" : reason;
  if (isWaiting(job.status)) {
    cancelWaiting(*row, event_type::kJobCancelled, why);
  } else if (job.status == JobStatus::kClaimed) {
    if (!job.cancel_requested) {
      s_.db.post(kRequestCancel, row->seq, why);
      job.cancel_requested = true;
      job.reason = why;
      job.version += 1;
    }
  } else if (job.status != JobStatus::kCancelled) {
    return muster::fail(ErrorCode::kAlreadyFinished, "the job is " + std::string(name(job.status)));
  }
  attachFlow(*row);
  return std::move(job);
}

void Jobs::retryRow(Row& row) {
  Job& job = row.job;
  s_.db.post(kRetry, row.seq, s_.now);
  s_.countMove(row, job.status, JobStatus::kPending);
  job.status = JobStatus::kPending;
  job.attempts = 0;
  job.available_at = s_.now;
  job.expires_at.reset();
  job.finished_at.reset();
  job.error.clear();
  job.reason.clear();
  job.version += 1;
  emit(event_type::kJobRetried, row);
}

std::optional<JobId> Jobs::livingTwin(const Job& job) {
  if (job.unique_key.empty()) return std::nullopt;
  auto twin = s_.db.query(kLivingTwin, job.pool, job.unique_key);
  return twin.next() ? std::optional(JobId(twin->string(0))) : std::nullopt;
}

Result<Job> Jobs::retryInFlow(Row& row) {
  auto flow = FlowRows(s_).ofJob(row.seq);
  if (!flow) return tl::unexpected(noJob(row.job.id));
  const std::vector<std::int64_t> chosen{row.seq};
  if (auto count = FlowRetrying(s_).retry(*flow, chosen); !count) {
    return tl::unexpected(std::move(count).error());
  }
  return *find(row.job.id);
}

Result<Job> Jobs::retry(const JobId& id) {
  FlowSettling(s_).settleEnded();
  ResourceRefs(s_).settle();
  auto row = hold(id, true);
  if (!row) return tl::unexpected(noJob(id));
  Job& job = row->job;
  if (job.status != JobStatus::kPoisoned && job.status != JobStatus::kCancelled) {
    return muster::fail(ErrorCode::kNotRetryable, "the job is " + std::string(name(job.status)));
  }
  if ((row->links & job_link::kInFlow) != 0) return retryInFlow(*row);
  if (const auto twin = livingTwin(job)) {
    return muster::fail(ErrorCode::kNotRetryable,
                        "job " + twin->str() + " lives with the same unique_key");
  }
  if ((row->links & job_link::kHasRefs) != 0) {
    if (auto ok = ResourceRefs(s_).checkLivesAgain(row->seq); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  retryRow(*row);
  ResourceRefs(s_).settle();  // so that the next unit of the transaction sees who uses what
  return std::move(job);
}

void Jobs::removeRow(const Row& row) {
  if (row.job.status == JobStatus::kClaimed) {
    if (!row.job.tenant.empty()) s_.tenantLeaves(row.job.pool, row.job.tenant);
    Circuits(s_).gaveBack(row.job.pool, row.job.id);
  }
  s_.db.post(kDeleteJob, row.seq);
  s_.db.post(kDeletePayload, row.seq);
  s_.db.post(kDeleteResult, row.seq);
  s_.db.post(kDeleteAttempts, row.seq);
  if ((row.links & job_link::kIsCallback) != 0) s_.db.post(kDeleteCallback, row.seq);
  if ((row.links & job_link::kHasPin) != 0) s_.db.post(kDeletePin, row.seq);
  s_.countGone(row, row.job.status);
}

Status Jobs::remove(const JobId& id, IfVersion if_version) {
  const auto row = hold(id, false);
  if (!row) return tl::unexpected(noJob(id));
  if (!versionFits(if_version, row->job.version)) {
    return muster::fail(ErrorCode::kVersionMismatch,
                        "the job is at version " + std::to_string(row->job.version));
  }
  if (row->job.status == JobStatus::kClaimed) {
    return muster::fail(ErrorCode::kJobActive,
                        "worker '" + row->job.claimed_by + "' holds the job; cancel it first");
  }
  if ((row->links & job_link::kInFlow) != 0) {
    return muster::fail(ErrorCode::kJobInFlow,
                        "jobs of a flow go with it; cancel the job, or delete the flow");
  }
  removeRow(*row);
  return {};
}

}  // namespace muster

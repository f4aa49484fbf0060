// Jobs as their workers report on them: done, failed, given back, renewed, on their way.
#include <algorithm>
#include <utility>

#include "models/json/job_json.h"
#include "models/json/json_writer.h"
#include "models/policy/retry.h"
#include "models/store/sql/affinities.h"
#include "models/store/sql/circuits.h"
#include "models/store/sql/job_artifacts.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/sql_array.h"

namespace muster {
namespace {

#define MUSTER_COMPLETE_JOB                                                           \
  "UPDATE jobs AS j SET status = 'done', finished_at = $3, lease_expires_at = NULL, " \
  "version = j.version + 1 "
constexpr Sql kComplete{MUSTER_COMPLETE_JOB
                        "WHERE seq = $1 AND status = 'claimed' AND lease_token = $2"};
// The same, and what the jobs are then, in one step: for the holders on a database that is far
// away. Only a claimed job has a lease that ends; to ask for its status would let PostgreSQL walk
// all that are claimed in place of finding these. A job with artifacts (links 256) is looked at
// before it is done.
#define MUSTER_COMPLETE_JOBS(from, where)                                    \
  MUSTER_COMPLETE_JOB                                                        \
  "FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS TEXT[])) AS h(id, token)" from \
  " WHERE j.id = h.id COLLATE \"C\" AND j.lease_token = h.token "            \
  "AND j.lease_expires_at IS NOT NULL "                                      \
  "AND (j.links IS NULL OR (j.links & 256) = 0) "                            \
  "AND ($4 = CAST('' AS TEXT) OR j.pool_id = $4)" where " RETURNING " MUSTER_JOB_COLUMNS
constexpr Sql kCompleteState{MUSTER_COMPLETE_JOBS("", "")};
constexpr Sql kCompleteFull{MUSTER_COMPLETE_JOBS(", job_payloads p", " AND p.seq = j.seq")
                                MUSTER_PAYLOAD_OF_UNFINISHED};
constexpr Sql kInsertResult{"INSERT INTO job_results (seq, result, artifacts) VALUES ($1, $2, $3)"};
// With what was reported, where more is shown.
constexpr Sql kInsertMerged{
    "INSERT INTO job_results (seq, result, artifacts, handed) VALUES ($1, $2, $3, $4)"};
constexpr Sql kHandedOf{"SELECT handed FROM job_results WHERE seq = $1 AND handed IS NOT NULL"};
constexpr Sql kEndTry{
    "UPDATE jobs SET status = $3, delayed = $4, attempts = $5, crashes = $6, available_at = $7, "
    "finished_at = $8, claimed_by = NULL, claimed_at = NULL, lease_token = NULL, "
    "lease_expires_at = NULL, cancel_requested = 0, error = $9, reason = $10, progress = NULL, "
    "progress_message = NULL, version = version + 1 "
    "WHERE seq = $1 AND status = 'claimed' AND lease_token = $2"};
constexpr Sql kInsertAttempt{
    "INSERT INTO attempts (seq, attempt, worker_id, lease_token, claimed_at, ended_at, outcome, "
    "error, exit_code, exit_signal, max_rss_bytes, output_tail, error_class) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"};
constexpr Sql kRetryOf{"SELECT retry FROM job_payloads WHERE seq = $1"};
constexpr Sql kFindAttempt{
    "SELECT outcome, error FROM attempts WHERE seq = $1 AND lease_token = $2 LIMIT 1"};
constexpr Sql kRenewLease{
    "UPDATE jobs SET lease_expires_at = $3, version = version + 1 "
    "WHERE seq = $1 AND status = 'claimed' AND lease_token = $2"};
constexpr Sql kProgress{
    "UPDATE jobs SET progress = $3, progress_message = $4, version = version + 1 "
    "WHERE seq = $1 AND status = 'claimed' AND lease_token = $2"};

Error lost(const Job& job) {
  return {ErrorCode::kLeaseLost,
          "the lease has ended; the job is " + std::string(name(job.status))};
}

// The beginning of a text, cut between characters.
std::string beginning(const std::string& text, std::size_t bytes) {
  while (bytes < text.size() && bytes > 0 && (text[bytes] & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

void Jobs::emit(std::string_view type, const Row& row, std::string details,
                std::optional<Time> due) {
  Event event;
  event.type = type;
  event.pool = row.job.pool.str();
  event.job = row.job.id.str();
  event.job_seq = row.seq;
  event.worker = row.job.claimed_by;
  if (row.job.attempts > 0) event.attempt = row.job.attempts;
  event.details = std::move(details);
  if (row.job.claimed_at) {
    const bool just_claimed = row.job.status == JobStatus::kClaimed;
    const Millis since_due = s_.now - due.value_or(row.job.available_at);
    event.took = just_claimed ? since_due : s_.now - *row.job.claimed_at;
    if (!just_claimed) event.since_due = since_due;
    event.pinned = just_claimed && row.pinned;
  }
  s_.emit(std::move(event));
}

void Jobs::leaveClaimed(const Row& row, JobStatus to) {
  s_.countMove(row, JobStatus::kClaimed, to);
  if (!row.job.tenant.empty()) s_.tenantLeaves(row.job.pool, row.job.tenant);
}

std::optional<Jobs::Row> Jobs::holdFor(const JobId& id, const Reporter& by, bool with_data) {
  auto held = hold(id, with_data);
  if (held && !by.pool.empty() && held->job.pool != by.pool) return std::nullopt;
  return held;
}

// The lease token proves it; without one the holder is taken at its word.
bool Jobs::holds(const Row& row, const Reporter& by) {
  if (row.job.status != JobStatus::kClaimed) return false;
  if (!by.lease_token.empty()) return row.job.lease_token == by.lease_token;
  return by.worker.empty() || by.worker == row.job.claimed_by;
}

// Why a reporter who does not hold the job is refused. A result that comes too late leaves a trace.
Error Jobs::refuse(const Row& row, const Reporter& by) {
  const std::string status(name(row.job.status));
  if (by.lease_token.empty() && row.job.status != JobStatus::kClaimed) {
    if (!isFinished(row.job.status)) return {ErrorCode::kNotClaimed, "no worker holds the job"};
    return {ErrorCode::kAlreadyFinished, "the job is " + status};
  }
  Event event;
  event.type = event_type::kJobLateResultDropped;
  event.pool = row.job.pool.str();
  event.job = row.job.id.str();
  event.job_seq = row.seq;
  event.worker = by.worker;
  event.details = JsonWriter().beginObject().field("status", status).endObject().take();
  s_.emit(std::move(event));
  return {ErrorCode::kLeaseLost, row.job.status == JobStatus::kClaimed
                                     ? "another lease holds the job"
                                     : "the lease has ended; the job is " + status};
}

void Jobs::completeForetold() {
  auto& wishes = s_.ahead.completions;
  if (wishes.empty()) return;
  // In one order, so that nobody waits in a circle.
  std::sort(wishes.begin(), wishes.end(),
            [](const Wish& a, const Wish& b) { return a.job.str() < b.job.str(); });
  SqlArray ids, tokens;
  for (const Wish& wish : std::exchange(wishes, {})) {
    ids.add(wish.job.str());
    tokens.add(wish.lease_token);
  }
  auto rows = s_.db.query(kCompleteFull, ids.text(), tokens.text(), s_.now, "");
  while (rows.next()) {
    Row row = readRow(*rows, true);
    s_.ahead.completed.emplace(row.job.id.str(), std::move(row));
  }
}

std::optional<Jobs::Row> Jobs::completeHeld(const JobId& id, const Reporter& by, bool with_data) {
  completeForetold();
  const auto foretold = s_.ahead.completed.find(id.str());
  if (foretold != s_.ahead.completed.end() && foretold->second.job.lease_token == by.lease_token) {
    return std::move(s_.ahead.completed.extract(foretold).mapped());
  }
  SqlArray ids, tokens;
  ids.add(id.str());
  tokens.add(by.lease_token);
  auto rows = s_.db.query(with_data ? kCompleteFull : kCompleteState, ids.text(), tokens.text(),
                          s_.now, by.pool);
  if (!rows.next()) return std::nullopt;
  return readRow(*rows, with_data);
}

bool Jobs::wasHanded(std::int64_t job, const std::string& artifacts) {
  auto handed = s_.db.query(kHandedOf, job);
  return handed.next() && handed->text(0) == artifacts;
}

Result<Job> Jobs::complete(const JobId& id, const Reporter& by,
                           const std::optional<std::string>& result, const std::string& artifacts,
                           bool with_data) {
  std::optional<Row> held;
  const bool names_resources = mayRegister(result, artifacts);
  if (s_.db.hasPeers() && !by.lease_token.empty() && !names_resources) {
    held = completeHeld(id, by, with_data);
  }
  const bool completed = held.has_value();
  if (!completed) held = holdFor(id, by, with_data);
  if (!held) return tl::unexpected(noJob(id));
  Job& job = held->job;
  if (!completed && !holds(*held, by)) {
    if (job.status != JobStatus::kDone || by.lease_token.empty() ||
        job.lease_token != by.lease_token) {
      return tl::unexpected(refuse(*held, by));
    }
    // Read anew: who waited for the row has it as it is now, but not yet the result beside it.
    Job finished = *find(id);
    if (finished.result == result &&
        (finished.artifacts == artifacts || wasHanded(held->seq, artifacts))) {
      return with_data ? std::move(finished) : std::move(job);
    }
    return muster::fail(ErrorCode::kAlreadyFinished, "the job is done with another result");
  }
  std::string shown = artifacts;
  if (names_resources || (held->links & job_link::kHasArtifacts) != 0) {
    auto kept = JobArtifacts(s_).keep(*held, result, artifacts);
    if (!kept) return tl::unexpected(std::move(kept).error());
    shown = *std::move(kept);
  }
  if (!completed) {
    s_.db.post(kComplete, held->seq, job.lease_token, s_.now);
    job.version += 1;
  }
  if (shown != artifacts) {
    s_.db.post(kInsertMerged, held->seq, result, shown, artifacts);
  } else if (result || !artifacts.empty()) {
    s_.db.post(kInsertResult, held->seq, result, orNull(artifacts));
  }
  leaveClaimed(*held, JobStatus::kDone);
  s_.countTry(job.claimed_by, true);
  job.status = JobStatus::kDone;
  job.finished_at = s_.now;
  job.lease_expires_at.reset();
  job.result = result;
  job.artifacts = std::move(shown);
  emit(event_type::kJobCompleted, *held);
  Circuits(s_).succeeded(job.pool);
  return std::move(job);
}

std::string Jobs::endingDetails(const Job& job, const Ending& ending, const FailureReport& report) {
  JsonWriter out;
  out.beginObject();
  if (!report.error.empty()) out.field("error", beginning(report.error, 1000));
  if (!ending.error_class.empty()) out.field("error_class", ending.error_class);
  if (ending.excused) out.field("excused", true);
  if (!job.reason.empty()) out.field("reason", job.reason);
  if (job.status == JobStatus::kPending) out.field("available_at", job.available_at);
  out.endObject();
  return out.take();
}

void Jobs::endTry(Row& row, const Ending& ending, const FailureReport& report) {
  Job& job = row.job;
  const Time due = job.available_at;
  s_.db.post(kInsertAttempt, row.seq, job.attempts, orNull(job.claimed_by), job.lease_token,
             job.claimed_at, s_.now, ending.outcome, orNull(report.error), report.exit_code,
             report.exit_signal, report.max_rss_bytes, orNull(report.output_tail),
             orNull(ending.error_class));
  job.status = ending.status;
  job.crashes += ending.crashed ? 1 : 0;
  job.available_at = ending.status == JobStatus::kPending ? ending.available_at : job.available_at;
  if (isFinished(ending.status)) job.finished_at = s_.now;
  job.error = report.error;
  job.reason = ending.reason;
  const bool delayed = ending.status == JobStatus::kPending && ending.available_at > s_.now;
  s_.db.post(kEndTry, row.seq, job.lease_token, name(job.status), delayed, ending.attempts,
             job.crashes, job.available_at, job.finished_at, orNull(job.error), orNull(job.reason));
  leaveClaimed(row, ending.status);
  const bool is_failure = ending.outcome != "released" && ending.outcome != "cancelled";
  if (is_failure && (row.links & job_link::kHasKey) != 0) {
    Affinities(s_).failedTry(row.seq, job.claimed_by);
  }
  if (ending.status == JobStatus::kPoisoned && (row.links & job_link::kHasArtifacts) != 0) {
    JobArtifacts(s_).dropEarlier(row);
  }
  // Names the try that ended, and its worker.
  emit(ending.event, row, endingDetails(job, ending, report), due);

  job.attempts = ending.attempts;
  job.version += 1;
  job.claimed_by.clear();
  job.claimed_at.reset();
  job.lease_token.clear();
  job.lease_expires_at.reset();
  job.cancel_requested = false;
  job.progress.reset();
  job.progress_message.clear();
}

// The same report of the same try came before: its answer was lost on the way.
bool Jobs::repeatsEnding(const Row& row, const Reporter& by, const std::string& outcome,
                         const std::string& error) {
  if (by.lease_token.empty()) return false;
  auto attempt = s_.db.query(kFindAttempt, row.seq, by.lease_token);
  return attempt.next() && attempt->text(0) == outcome && attempt->text(1) == error;
}

RetryPolicy Jobs::retryPolicyOf(const Row& row, const PoolSettings& settings, bool with_data) {
  if (with_data) return overridden(settings.retryPolicy(), row.job.retry);
  auto rows = s_.db.query(kRetryOf, row.seq);
  return overridden(settings.retryPolicy(), rows.next() ? rows->text(0) : std::string_view());
}

Result<Job> Jobs::fail(const JobId& id, const Reporter& by, const FailureReport& report,
                       bool with_data) {
  auto held = holdFor(id, by, with_data);
  if (!held) return tl::unexpected(noJob(id));
  Job& job = held->job;
  if (!holds(*held, by)) {
    const std::string outcome = report.cancelled ? "cancelled" : "failed";
    if (repeatsEnding(*held, by, outcome, report.error)) return std::move(job);
    return tl::unexpected(refuse(*held, by));
  }
  const auto pool = Pools(s_).find(job.pool);
  const PoolSettings& settings = pool ? pool->settings : s_.rules.pool_defaults;
  const bool stopped = job.cancel_requested || report.cancelled;
  std::string error_class;
  std::optional<CircuitVerdict> circuit;
  if (stopped) {
    Circuits(s_).gaveBack(job.pool, id);
  } else {
    error_class = report.error_class.empty() ? errorClass(report.error) : report.error_class;
    if (pool) circuit = Circuits(s_).judge(*pool, id, error_class, report.error);
  }
  const bool excused = circuit && circuit->excused;
  // One that is excused is judged as if its worker had said so itself.
  FailureReport excuse;
  excuse.no_penalty = true;
  excuse.retry_after = report.retry_after;
  const RetryVerdict verdict =
      judgeFailure(job.attempts, job.max_retries, job.cancel_requested, excused ? excuse : report,
                   retryPolicyOf(*held, settings, with_data), s_.random.unit(), s_.now);
  const std::string stopped_reason = stoppedReason(*held);
  Ending ending{verdict.status, verdict.attempts,       verdict.available_at,
                "failed",       event_type::kJobFailed, ""};
  ending.error_class = std::move(error_class);
  ending.excused = excused;
  if (verdict.status == JobStatus::kPoisoned) {
    ending.event = event_type::kJobPoisoned;
    ending.reason = report.retryable ? "max_retries" : "not_retryable";
  } else if (verdict.status == JobStatus::kCancelled) {
    ending.outcome = report.cancelled ? "cancelled" : "failed";
    ending.event = event_type::kJobCancelled;
    ending.reason = stopped_reason;
  }
  s_.countTry(job.claimed_by, false);
  endTry(*held, ending, report);
  if (circuit) Circuits(s_).failed(job.pool, *std::move(circuit));
  return std::move(job);
}

Result<Job> Jobs::release(const JobId& id, const Reporter& by, bool with_data) {
  auto held = holdFor(id, by, with_data);
  if (!held) return tl::unexpected(noJob(id));
  Job& job = held->job;
  if (!holds(*held, by)) {
    if (repeatsEnding(*held, by, "released", "")) return std::move(job);
    return tl::unexpected(refuse(*held, by));
  }
  const std::string stopped_reason = stoppedReason(*held);
  Ending ending{JobStatus::kPending, job.attempts - 1,         s_.now,
                "released",          event_type::kJobReleased, ""};
  if (job.cancel_requested) {
    ending.status = JobStatus::kCancelled;
    ending.event = event_type::kJobCancelled;
    ending.reason = stopped_reason;
  }
  Circuits(s_).gaveBack(job.pool, id);
  endTry(*held, ending, {});
  return std::move(job);
}

// In a flow all jobs that are cancelled together have one reason.
std::string Jobs::stoppedReason(const Row& row) {
  const bool asked_by_flow =
      (row.links & job_link::kInFlow) != 0 && row.job.cancel_requested && !row.job.reason.empty();
  return asked_by_flow ? row.job.reason : "cancelled";
}

// The worker is gone or let go: the same rule as a failure, with another name. It says nothing
// about what the job depends on, so the pool's circuit does not count it.
void Jobs::loseTry(Row& row, std::string_view reason, bool crashed, const FailureReport& report) {
  Job& job = row.job;
  const auto pool = Pools(s_).find(job.pool);
  const PoolSettings& settings = pool ? pool->settings : s_.rules.pool_defaults;
  const RetryVerdict verdict =
      judgeFailure(job.attempts, job.max_retries, job.cancel_requested, report,
                   retryPolicyOf(row, settings, false), s_.random.unit(), s_.now);
  const std::string stopped_reason = stoppedReason(row);
  Ending ending{verdict.status, verdict.attempts,           verdict.available_at,
                reason,         event_type::kJobReassigned, reason,
                crashed};
  if (verdict.status == JobStatus::kPoisoned) ending.event = event_type::kJobPoisoned;
  if (verdict.status == JobStatus::kCancelled) {
    ending.event = event_type::kJobCancelled;
    ending.reason = stopped_reason;
  }
  Circuits(s_).gaveBack(job.pool, job.id);
  endTry(row, ending, report);
}

Result<Job> Jobs::renew(const JobId& id, const std::string& token, std::optional<Millis> extend) {
  auto held = hold(id, true);
  if (!held) return tl::unexpected(noJob(id));
  Job& job = held->job;
  if (token.empty() || !holds(*held, {token, ""})) return tl::unexpected(lost(job));
  if (*job.lease_expires_at < s_.now) {
    return muster::fail(ErrorCode::kLeaseLost,
                        "the lease ran out at " + formatTime(*job.lease_expires_at));
  }
  const auto pool = Pools(s_).find(job.pool);
  const Millis lease = pool ? pool->settings.lease() : s_.rules.pool_defaults.lease();
  job.lease_expires_at = s_.now + extend.value_or(lease);
  job.version += 1;
  s_.db.post(kRenewLease, held->seq, token, job.lease_expires_at);
  return std::move(job);
}

Result<Job> Jobs::progress(const JobId& id, const std::string& token, double progress,
                           const std::string& message) {
  auto held = hold(id, true);
  if (!held) return tl::unexpected(noJob(id));
  Job& job = held->job;
  if (token.empty() || !holds(*held, {token, ""})) return tl::unexpected(lost(job));
  job.progress = progress;
  job.progress_message = message;
  job.version += 1;
  s_.db.post(kProgress, held->seq, token, progress, orNull(message));
  JsonWriter details;
  details.beginObject().field("progress", progress);
  if (!message.empty()) details.field("message", message);
  details.endObject();
  emit(event_type::kJobProgress, *held, details.take());
  return std::move(job);
}

}  // namespace muster

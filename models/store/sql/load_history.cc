#include "models/store/sql/load_history.h"

#include <algorithm>
#include <set>

namespace muster {
namespace {

// Ids begin with the time they were made, so the index of ids finds the first job after a time.
constexpr Sql kLastBefore{"SELECT seq FROM jobs WHERE id < $1 ORDER BY id DESC LIMIT 1"};
constexpr Sql kEndOfJobs{
    "SELECT max(seq), count(*) FROM "
    "(SELECT seq FROM jobs WHERE seq > $1 ORDER BY seq LIMIT $2) AS piece"};
// When a job of a flow was unblocked is in the events alone, and they may be gone before it.
constexpr Sql kJobs{
    "SELECT seq, status, priority, created_at, available_at, claimed_at, finished_at, links, "
    "CASE WHEN links IS NOT NULL THEN (SELECT min(e.at) FROM events e "
    "WHERE e.job_seq = jobs.seq AND e.type = 'job.unblocked') END FROM jobs "
    "WHERE seq > $1 AND seq <= $2 AND pool_id = $3 ORDER BY seq"};
// Jobs of flows that were created before $1 may become work after it.
#define MUSTER_FIRST_OF_FLOWS(which)                                          \
  "SELECT min((SELECT f.seq FROM flow_jobs f WHERE f.flow_seq = w.flow_seq "  \
  "AND f.seq > 0 ORDER BY f.seq LIMIT 1)) AS first FROM flows w WHERE " which \
  " AND w.created_at < $1"
constexpr Sql kFirstOfFlows{
    "SELECT min(first) FROM (" MUSTER_FIRST_OF_FLOWS("w.status IN ('running', 'cancelling')")
    " UNION ALL " MUSTER_FIRST_OF_FLOWS("w.ended_at >= $1") ") AS firsts"};
constexpr Sql kTries{
    "SELECT seq, claimed_at, ended_at, outcome FROM attempts WHERE seq > $1 AND seq <= $2 "
    "ORDER BY seq, attempt_id"};
constexpr Sql kEndOfWorkers{
    "SELECT max(worker_id), count(*) FROM (SELECT worker_id FROM workers "
    "WHERE worker_id > $1 AND worker_id < $2 ORDER BY worker_id LIMIT $3) AS piece"};
// The coalesce keeps to the order of the ids.
constexpr Sql kWorkers{
    "SELECT launched_at, started_at, coalesce(exited_at, ended_at), jobs_done + jobs_failed, host "
    "FROM workers WHERE worker_id > $1 AND worker_id <= $2 AND coalesce(pool_id, '') = $3 "
    "AND launched_at >= $4 AND launched_at < $5 ORDER BY worker_id"};

// Clocks of several nodes, and one that is set back, may disagree with the order of rows by so
// much.
constexpr Millis kSlack = Seconds(10);

// An id that no job made before the time has, and none made after it is below.
std::string boundAt(Time time) {
  IdMaker maker([](std::uint8_t* out, std::size_t size) { std::fill_n(out, size, 0); });
  return maker.next(std::max(time, Time()));
}

std::string launchedBound(Time time) { return "w-" + boundAt(time); }

// It waits for others, or was cancelled while it did.
bool neverWasWork(const JobHistory& job) {
  const bool waits_or_is_cancelled =
      job.status == JobStatus::kBlocked || job.status == JobStatus::kCancelled;
  return waits_or_is_cancelled && job.tries.empty() && !job.claimed_at;
}

// Of a job that has been work: it was so at least since then.
Time latestUnblocked(const JobHistory& job) {
  return job.tries.empty() ? job.available_at
                           : std::min(job.available_at, job.tries.front().claimed_at);
}

}  // namespace

std::int64_t LoadHistory::beforeFirst() {
  auto before = s_.db.query(kLastBefore, boundAt(from_ - kSlack));
  if (!before.next()) return 0;
  const std::int64_t last_before = before->integer(0);
  auto flows = s_.db.query(kFirstOfFlows, from_);
  if (!flows.next() || flows->isNull(0)) return last_before;
  return std::min(last_before, flows->integer(0) - 1);
}

LoadHistory::JobPiece LoadHistory::jobs(std::int64_t after, int rows) {
  JobPiece piece;
  if (after == 0) after = beforeFirst();
  {
    auto end = s_.db.query(kEndOfJobs, after, rows);
    end.next();
    piece.is_last = end->integer(1) < rows;
    piece.next = piece.is_last && end->isNull(0) ? after : end->integer(0);
  }
  std::set<std::int64_t> waited;  // for others, until when is not known
  s_.flushEvents();
  {
    auto found = s_.db.query(kJobs, after, piece.next, pool_);
    while (found.next()) {
      const Time created_at = found->time(3);
      if (created_at >= to_ + kSlack) piece.is_last = true;  // all that follow are later
      const bool has_upstream =
          !found->isNull(7) && (found->integer(7) & job_link::kHasUpstream) != 0;
      if ((created_at < from_ && !has_upstream) || created_at >= to_) continue;
      JobHistory& job = piece.jobs.emplace_back();
      job.seq = found->integer(0);
      job.status = parseJobStatus(found->text(1)).value_or(JobStatus::kPending);
      job.priority = static_cast<int>(found->integer(2));
      job.created_at = created_at;
      job.available_at = found->time(4);
      job.claimed_at = found->maybeTime(5);
      job.finished_at = found->maybeTime(6);
      job.unblocked_at = found->maybeTime(8);
      if (has_upstream && !job.unblocked_at) waited.insert(job.seq);
    }
  }
  addTries(piece, after);
  std::erase_if(piece.jobs, [&](JobHistory& job) {
    if (waited.contains(job.seq)) {
      if (neverWasWork(job)) return true;
      job.unblocked_at = latestUnblocked(job);
    }
    return job.workSince() < from_ || job.workSince() >= to_;
  });
  return piece;
}

void LoadHistory::addTries(JobPiece& piece, std::int64_t after) {
  if (piece.jobs.empty()) return;
  auto tries = s_.db.query(kTries, after, piece.next);
  auto job = piece.jobs.begin();
  while (tries.next()) {
    const std::int64_t seq = tries->integer(0);
    while (job != piece.jobs.end() && job->seq < seq) ++job;
    if (job == piece.jobs.end()) return;
    if (job->seq != seq) continue;  // of another pool
    job->tries.push_back({tries->time(1), tries->time(2), tries->text(3) == "released"});
  }
}

LoadHistory::WorkerPiece LoadHistory::workers(const std::string& after, int rows) {
  s_.flushTries();
  WorkerPiece piece;
  const std::string from = after.empty() ? launchedBound(from_ - kSlack) : after;
  {
    auto end = s_.db.query(kEndOfWorkers, from, launchedBound(to_ + kSlack), rows);
    end.next();
    piece.is_last = end->integer(1) < rows;
    piece.next = end->isNull(0) ? from : end->string(0);
  }
  auto found = s_.db.query(kWorkers, from, piece.next, pool_, from_, to_);
  while (found.next()) {
    WorkerHistory& worker = piece.workers.emplace_back();
    worker.launched_at = found->time(0);
    // Until it registers it has the time of its launch there.
    if (found->time(1) > worker.launched_at) worker.registered_at = found->time(1);
    worker.ended_at = found->maybeTime(2);
    worker.worked = found->integer(3) > 0;
    worker.host = found->string(4);
  }
  return piece;
}

}  // namespace muster

// Reading jobs: rows, single jobs, pages, attempts.
#include <algorithm>
#include <functional>
#include <limits>

#include "models/json/job_json.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/sql_array.h"

namespace muster {
namespace {

constexpr Sql kFindFull{MUSTER_SELECT_JOB_WITH_DATA "WHERE j.id = $1"};
constexpr Sql kFindState{MUSTER_SELECT_JOB "WHERE j.id = $1"};
constexpr Sql kHoldFull{MUSTER_SELECT_JOB_WITH_DATA "WHERE j.id = $1 /*for_update j*/"};
constexpr Sql kHoldState{MUSTER_SELECT_JOB "WHERE j.id = $1 /*for_update j*/"};
constexpr Sql kSeqsOfJobs{
    "SELECT seq FROM jobs WHERE lane_id = $1 AND status = $2 AND seq < $3 AND seq >= $4 "
    "ORDER BY seq DESC LIMIT $5"};
constexpr Sql kFindSeq{MUSTER_SELECT_JOB_WITH_DATA "WHERE j.seq = $1"};
// PostgreSQL: several at once.
constexpr Sql kFindSeqs{MUSTER_SELECT_JOB_WITH_DATA
                        "WHERE j.seq = ANY (CAST($1 AS BIGINT[])) ORDER BY j.seq DESC"};
constexpr Sql kAttempts{
    "SELECT attempt, worker_id, claimed_at, ended_at, outcome, error, exit_code, exit_signal, "
    "max_rss_bytes, output_tail, error_class FROM attempts WHERE seq = $1 "
    "ORDER BY attempt_id DESC LIMIT $2"};
constexpr Sql kPoolOfJob{"SELECT pool_id FROM jobs WHERE id = $1"};
constexpr Sql kLaneIds{
    "SELECT lane_id FROM lanes WHERE pool_id = $1 AND (CAST($2 AS TEXT) IS NULL OR tenant = $2)"};
// Ids begin with the time they were made, so the index of ids finds the first job after a time.
constexpr Sql kFirstSince{"SELECT seq FROM jobs WHERE id >= $1 ORDER BY id LIMIT 1"};

constexpr std::size_t kPageBytes = 4 << 20;
constexpr int kSentAtOnce = 20;  // a database elsewhere sends all it is asked for, however large
constexpr int kMostAttempts = 200;
constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();

std::optional<int> maybeInt(const SqlRows& row, int column) {
  if (row.isNull(column)) return std::nullopt;
  return static_cast<int>(row.integer(column));
}

}  // namespace

Jobs::Row Jobs::readRow(const SqlRows& row, bool with_data) {
  Row out;
  Job& job = out.job;
  out.seq = row.integer(0);
  out.lane = row.integer(1);
  job.id = JobId(row.string(2));
  job.pool = PoolId(row.string(3));
  job.status = parseJobStatus(row.text(4)).value_or(JobStatus::kPending);
  job.priority = static_cast<int>(row.integer(5));
  job.attempts = static_cast<int>(row.integer(6));
  job.max_retries = static_cast<int>(row.integer(7));
  job.crashes = static_cast<int>(row.integer(8));
  job.version = row.integer(9);
  job.available_at = row.time(10);
  job.created_at = row.time(11);
  job.expires_at = row.maybeTime(12);
  job.claimed_at = row.maybeTime(13);
  job.finished_at = row.maybeTime(14);
  job.claimed_by = row.string(15);
  job.lease_token = row.string(16);
  job.lease_expires_at = row.maybeTime(17);
  job.cancel_requested = row.integer(18) != 0;
  job.tenant = row.string(19);
  job.unique_key = row.string(20);
  job.error = row.string(21);
  job.reason = row.string(22);
  if (!row.isNull(23)) job.progress = row.real(23);
  job.progress_message = row.string(24);
  out.links = row.isNull(25) ? 0 : row.integer(25);
  if (with_data) {
    job.data = row.string(26);
    job.placement = row.string(27);
    job.affinity = row.string(28);
    job.resource_refs = row.string(29);
    job.traceparent = row.string(30);
    job.retry = row.string(31);
    if (!row.isNull(32)) job.result = row.string(32);
    job.artifacts = row.string(33);
    job.effect_key = sha256Hex(job.id.str(), job.data);
  }
  return out;
}

std::optional<Jobs::Row> Jobs::load(const JobId& id, bool with_data) {
  auto rows = s_.db.query(with_data ? kFindFull : kFindState, id);
  if (!rows.next()) return std::nullopt;
  return readRow(*rows, with_data);
}

std::optional<Jobs::Row> Jobs::hold(const JobId& id, bool with_data) {
  auto rows = s_.db.query(with_data ? kHoldFull : kHoldState, id);
  if (!rows.next()) return std::nullopt;
  return readRow(*rows, with_data);
}

std::optional<Job> Jobs::find(const JobId& id) {
  auto row = load(id, true);
  if (!row) return std::nullopt;
  attachFlow(*row);
  return std::move(row->job);
}

void Jobs::attachFlow(Row& row) {
  if ((row.links & job_link::kOfFlows) != 0) FlowRows(s_).attach(row);
  if ((row.links & job_link::kHasPin) != 0) Pins(s_).attach({&row, 1});
}

std::optional<std::string> Jobs::poolOf(const JobId& id) {
  auto rows = s_.db.query(kPoolOfJob, id);
  return rows.next() ? std::optional(rows->string(0)) : std::nullopt;
}

std::vector<std::int64_t> Jobs::lanesOf(const PoolId& pool,
                                        const std::optional<std::string>& tenant) {
  std::vector<std::int64_t> lanes;
  auto rows = s_.db.query(kLaneIds, pool, tenant);
  while (rows.next()) lanes.push_back(rows->integer(0));
  return lanes;
}

std::vector<Attempt> Jobs::attempts(const JobId& id) {
  std::vector<Attempt> attempts;
  const auto row = load(id, false);
  if (!row) return attempts;
  std::size_t bytes = 0;
  auto rows = s_.db.query(kAttempts, row->seq, kMostAttempts);
  while (bytes <= kPageBytes && rows.next()) {
    Attempt& attempt = attempts.emplace_back();
    attempt.attempt = static_cast<int>(rows->integer(0));
    attempt.worker = rows->string(1);
    attempt.claimed_at = rows->time(2);
    attempt.ended_at = rows->maybeTime(3);
    attempt.outcome = rows->string(4);
    attempt.error = rows->string(5);
    attempt.exit_code = maybeInt(*rows, 6);
    attempt.exit_signal = maybeInt(*rows, 7);
    attempt.max_rss_bytes = rows->maybeInteger(8);
    attempt.output_tail = rows->string(9);
    attempt.error_class = rows->string(10);
    bytes += attempt.error.size() + attempt.output_tail.size();
  }
  std::reverse(attempts.begin(), attempts.end());
  const Job& job = row->job;
  if (job.status == JobStatus::kClaimed || job.status == JobStatus::kDone) {
    Attempt& last = attempts.emplace_back();
    last.attempt = job.attempts;
    last.worker = job.claimed_by;
    last.claimed_at = *job.claimed_at;
    last.ended_at = job.finished_at;
    last.outcome = job.status == JobStatus::kDone ? "done" : "running";
  }
  return attempts;
}

// The newest of these statuses below a number, with that many at most.
std::vector<std::int64_t> Jobs::newest(const std::vector<std::int64_t>& lanes,
                                       const std::vector<JobStatus>& statuses, std::int64_t below,
                                       std::int64_t from, std::size_t count) {
  std::vector<std::int64_t> seqs;
  const auto keepNewest = [&] {
    std::sort(seqs.begin(), seqs.end(), std::greater<>());
    seqs.resize(std::min(seqs.size(), count));
  };
  for (const std::int64_t lane : lanes) {
    for (const JobStatus status : statuses) {
      auto rows = s_.db.query(kSeqsOfJobs, lane, name(status), below, from,
                              static_cast<std::int64_t>(count));
      while (rows.next()) seqs.push_back(rows->integer(0));
    }
    if (seqs.size() > 2 * count) keepNewest();
  }
  keepNewest();
  return seqs;
}

JobPage Jobs::list(const PoolId& pool, const JobFilter& filter, const std::string& cursor,
                   int limit) {
  std::vector<JobStatus> statuses = filter.statuses;
  if (statuses.empty()) {
    for (std::size_t i = 0; i < kJobStatuses; ++i) statuses.push_back(static_cast<JobStatus>(i));
  }
  std::int64_t from = 0;
  if (filter.created_after) {
    IdMaker bound([](std::uint8_t* out, std::size_t size) { std::fill_n(out, size, 0); });
    auto first = s_.db.query(kFirstSince, bound.next(*filter.created_after + Millis(1)));
    if (!first.next()) return {};
    from = first->integer(0);
  }
  // Jobs are chosen by their numbers, and read only once it is known which are on the page.
  const std::vector<std::int64_t> seqs =
      newest(lanesOf(pool, filter.tenant), statuses, cursor.empty() ? kNoBound : std::stoll(cursor),
             from, static_cast<std::size_t>(limit) + 1);
  JobPage page;
  std::vector<Row> found;
  std::size_t bytes = 0;
  const auto take = [&](Row row) {
    bytes += payloadBytes(row.job);
    if (found.size() == static_cast<std::size_t>(limit)) return false;
    if (bytes > kPageBytes && !found.empty()) return false;
    found.push_back(std::move(row));
    return true;
  };
  const auto finish = [&](bool is_last) {
    FlowRows(s_).attach(found);
    Pins(s_).attach(found);
    if (!is_last) page.next_cursor = std::to_string(found.back().seq);
    for (Row& row : found) page.jobs.push_back(std::move(row.job));
    return page;
  };
  const std::size_t at_once = s_.db.hasPeers() ? kSentAtOnce : 1;
  for (std::size_t first = 0; first < seqs.size(); first += at_once) {
    SqlArray wanted;
    for (std::size_t i = first; i < std::min(first + at_once, seqs.size()); ++i) {
      wanted.addOrNull(std::optional(seqs[i]));
    }
    auto rows = s_.db.hasPeers() ? s_.db.query(kFindSeqs, wanted.text())
                                 : s_.db.query(kFindSeq, seqs[first]);
    while (rows.next()) {
      if (!take(readRow(*rows, true))) return finish(false);
    }
  }
  return finish(true);
}

}  // namespace muster

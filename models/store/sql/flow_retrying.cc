#include "models/store/sql/flow_retrying.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "models/store/sql/flow_inputs.h"
#include "models/store/sql/flow_settling.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/resource_refs.h"

namespace muster {
namespace {

constexpr std::size_t kMarkedAtOnce = 10'000;
constexpr int kPutBackAtOnce = 10'000;
constexpr int kPutBackTogether = 1000;

constexpr Sql kStates{
    "SELECT f.seq, f.parent_seq, j.status, f.ended_as, f.may_fail, f.todo, f.told_to, f.remaining "
    "FROM flow_jobs f LEFT JOIN jobs j ON j.seq = f.seq WHERE f.flow_seq = $1 AND f.seq > $2 "
    "ORDER BY f.seq LIMIT $3"};
constexpr Sql kEdgesOfFlow{
    "SELECT e.upstream_seq, e.downstream_seq, e.condition FROM flow_jobs f "
    "CROSS JOIN flow_edges e WHERE f.flow_seq = $1 AND f.seq > $2 AND f.seq <= $3 "
    "AND e.downstream_seq = f.seq"};
constexpr Sql kKeysOfFlow{
    "SELECT j.seq, j.pool_id, j.unique_key, (SELECT t.id FROM jobs t WHERE t.pool_id = j.pool_id "
    "AND t.unique_key = j.unique_key AND t.unique_key IS NOT NULL "
    "AND t.status IN ('blocked', 'pending', 'claimed')) "
    "FROM flow_jobs f CROSS JOIN jobs j WHERE f.flow_seq = $1 AND j.seq = f.seq "
    "AND j.unique_key IS NOT NULL"};

// $1: number, remaining, ended_as.
constexpr Sql kMarkPutBack{
    "UPDATE flow_jobs SET remaining = d.c1, ended_as = d.c2, todo = 3, told_to = 0 "
    "FROM /*rows $1 3*/ d WHERE flow_jobs.seq = d.c0"};
constexpr Sql kRecount{
    "UPDATE flow_jobs SET remaining = d.c1 FROM /*rows $1 2*/ d WHERE flow_jobs.seq = d.c0"};
// $1: number, open, failed, cancelled.
constexpr Sql kSetLevels{
    "UPDATE flow_jobs SET children_open = d.c1, children_failed = d.c2, children_cancelled = d.c3 "
    "FROM /*rows $1 4*/ d WHERE flow_jobs.seq = d.c0"};
constexpr Sql kSetTopLevel{
    "UPDATE flows SET top_open = $2, top_failed = $3, top_cancelled = $4, todo = 3, "
    "todo_after = 0, version = version + 1 WHERE flow_seq = $1"};
constexpr Sql kRunAgain{
    "UPDATE flows SET status = 'running', cause = '', reason = '', round = round + 1, "
    "began_at = $2, ended_at = NULL, deadline_at = $3 WHERE flow_seq = $1"};

constexpr Sql kNextPutBack{"SELECT " MUSTER_JOB_COLUMNS
                           ", f.remaining, f.ended_as FROM flow_jobs f CROSS JOIN jobs j "
                           "WHERE f.todo <> 0 AND f.todo = 3 AND f.flow_seq = $1 "
                           "AND j.seq = f.seq ORDER BY f.seq LIMIT $2"};
constexpr int kRemainingColumn = 26;
// $1: number, whether it waits.
constexpr Sql kPutBack{
    "UPDATE jobs SET status = CASE WHEN d.c1 = 1 THEN 'blocked' ELSE 'pending' END, delayed = 0, "
    "attempts = 0, available_at = $2, expires_at = NULL, finished_at = NULL, "
    "cancel_requested = 0, error = NULL, reason = NULL, version = version + 1 "
    "FROM /*rows $1 2*/ d WHERE jobs.seq = d.c0"};
// $1: number, EndedAs.
constexpr Sql kCancelAgain{
    "UPDATE jobs SET status = 'cancelled', version = version + 1, "
    "reason = CASE d.c1 WHEN 1 THEN 'upstream_failed' WHEN 2 THEN 'upstream_cancelled' "
    "ELSE 'not_needed' END FROM /*rows $1 2*/ d WHERE jobs.seq = d.c0"};
constexpr Sql kUnmark{
    "UPDATE flow_jobs SET todo = 0 WHERE seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
// $1: flow, what is added to blocked, poisoned and cancelled.
constexpr Sql kCountPutBack{
    "UPDATE flows SET blocked = blocked + $2, poisoned = poisoned + $3, "
    "cancelled = cancelled + $4 WHERE flow_seq = $1"};
constexpr Sql kAllPutBack{
    "UPDATE flows SET todo = CASE WHEN cause <> '' THEN 2 "
    "WHEN closed = 1 AND top_open = 0 THEN 1 ELSE 0 END WHERE flow_seq = $1"};

std::vector<FlowJobState> readStates(Session& s, std::int64_t flow) {
  std::vector<FlowJobState> jobs;
  std::int64_t after = std::numeric_limits<std::int64_t>::min();
  for (;;) {
    const std::size_t before = jobs.size();
    auto rows = s.db.query(kStates, flow, after, static_cast<std::int64_t>(kMarkedAtOnce));
    while (rows.next()) {
      FlowJobState& job = jobs.emplace_back();
      job.seq = rows->integer(0);
      job.parent = rows->integer(1);
      job.status = parseJobStatus(rows->text(2)).value_or(JobStatus::kCancelled);
      job.ended_as = static_cast<EndedAs>(rows->integer(3));
      job.may_fail = rows->integer(4) != 0;
      job.todo = static_cast<FlowJobTodo>(rows->integer(5));
      job.told_to = rows->integer(6);
      job.remaining = rows->integer(7);
    }
    if (jobs.size() - before < kMarkedAtOnce) return jobs;
    after = jobs.back().seq;
  }
}

std::vector<FlowEdgeState> readEdges(Session& s, std::int64_t flow,
                                     std::span<const FlowJobState> jobs) {
  std::vector<FlowEdgeState> edges;
  for (std::size_t first = 0; first < jobs.size(); first += kMarkedAtOnce) {
    const std::size_t last = std::min(first + kMarkedAtOnce, jobs.size()) - 1;
    auto rows = s.db.query(kEdgesOfFlow, flow, jobs[first].seq - 1, jobs[last].seq);
    while (rows.next()) {
      edges.push_back(
          {rows->integer(0), rows->integer(1), static_cast<EdgeCondition>(rows->integer(2))});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const FlowEdgeState& a, const FlowEdgeState& b) {
    return std::pair(a.downstream, a.upstream) < std::pair(b.downstream, b.upstream);
  });
  return edges;
}

// Runs the statement on the items, so many at a time.
template <class Items, class Add>
void inPieces(Session& s, Sql statement, const Items& items, Add add) {
  for (std::size_t first = 0; first < items.size(); first += kMarkedAtOnce) {
    NumberRows list;
    for (std::size_t i = first; i < std::min(first + kMarkedAtOnce, items.size()); ++i) {
      add(list, items[i]);
    }
    s.db.post(statement, list.text());
  }
}

}  // namespace

Status FlowRetrying::checkUniqueKeys(const FlowRow& row, const FlowRetryPlan& plan) {
  std::set<std::pair<std::string, std::string>> revived;
  auto rows = s_.db.query(kKeysOfFlow, row.seq);
  while (rows.next()) {
    const auto found =
        std::lower_bound(plan.put_back.begin(), plan.put_back.end(), rows->integer(0),
                         [](const auto& job, std::int64_t seq) { return job.seq < seq; });
    if (found == plan.put_back.end() || found->seq != rows->integer(0)) continue;
    const std::string key = rows->string(2);
    const bool is_first = revived.emplace(rows->string(1), key).second;
    if (is_first && rows->isNull(3)) continue;
    return fail(ErrorCode::kUniqueKeyTaken,
                is_first ? "job " + rows->string(3) + " lives with the unique_key '" + key + "'"
                         : "two jobs that would be put back have the unique_key '" + key + "'");
  }
  return {};
}

Status FlowRetrying::checkResources(const FlowRetryPlan& plan) {
  ResourceRefs refs(s_);
  refs.settle();
  std::vector<std::int64_t> jobs;
  for (const auto& job : plan.put_back) jobs.push_back(job.seq);
  const std::span<const std::int64_t> all(jobs);
  for (std::size_t first = 0; first < all.size(); first += kMarkedAtOnce) {
    const auto gone =
        refs.goneAmong(all.subspan(first, std::min(kMarkedAtOnce, all.size() - first)));
    if (!gone.empty()) return refs.checkLivesAgain(gone.front());
  }
  return {};
}

void FlowRetrying::mark(const FlowRow& row, const std::vector<FlowJobState>& jobs,
                        const FlowRetryPlan& plan) {
  inPieces(s_, kMarkPutBack, plan.put_back,
           [](NumberRows& list, const auto& job) { list.add(job.seq, job.remaining, 0); });
  inPieces(s_, kMarkPutBack, plan.cancelled_again, [](NumberRows& list, const auto& job) {
    list.add(job.seq, 0, static_cast<int>(job.ended_as));
  });
  inPieces(s_, kRecount, plan.recounted,
           [](NumberRows& list, const auto& job) { list.add(job.seq, job.remaining); });
  std::vector<FlowRetryPlan::Level> levels;
  LevelCounts top;
  for (const FlowRetryPlan::Level& level : plan.levels) {
    if (level.parent == 0) {
      top = level.counts;
      continue;
    }
    levels.push_back(level);
    // One more as long as the parent itself has not ended.
    const auto parent =
        std::lower_bound(jobs.begin(), jobs.end(), level.parent,
                         [](const FlowJobState& job, std::int64_t seq) { return job.seq < seq; });
    const bool is_put_back = std::binary_search(
        plan.put_back.begin(), plan.put_back.end(), FlowRetryPlan::Remaining{level.parent, 0},
        [](const auto& a, const auto& b) { return a.seq < b.seq; });
    const bool runs = parent != jobs.end() && parent->seq == level.parent &&
                      parent->ended_as < EndedAs::kGoneDone && !isFinished(parent->status);
    if (is_put_back || runs) levels.back().counts.open += 1;
  }
  inPieces(s_, kSetLevels, levels, [](NumberRows& list, const FlowRetryPlan::Level& level) {
    list.add(level.parent, level.counts.open, level.counts.failed, level.counts.cancelled);
  });
  s_.db.post(kSetTopLevel, row.seq, top.open, top.failed, top.cancelled);
}

Result<std::int64_t> FlowRetrying::retry(FlowRow& row,
                                         const std::optional<std::vector<std::int64_t>>& chosen,
                                         std::optional<Millis> deadline) {
  const bool had_ended = isEnded(row.flow.status);
  if (row.todo == FlowTodo::kRemove || (!had_ended && !row.cause.empty())) {
    return fail(ErrorCode::kNotRetryable,
                "the flow " + row.flow.id.str() + " is being cancelled; retry when it has ended");
  }
  FlowRetryPlan plan;
  {
    const auto jobs = readStates(s_, row.seq);
    plan = planFlowRetry(jobs, readEdges(s_, row.seq, jobs), chosen);
    if (auto ok = checkUniqueKeys(row, plan); !ok) return tl::unexpected(std::move(ok).error());
    if (auto ok = checkResources(plan); !ok) return tl::unexpected(std::move(ok).error());
    mark(row, jobs, plan);
  }
  if (had_ended) {
    s_.db.post(kRunAgain, row.seq, s_.now,
               deadline ? std::optional(s_.now + *deadline) : std::nullopt);
  }
  row = *FlowRows(s_).at(row.seq);
  if (had_ended) FlowRows(s_).emit(event_type::kFlowRetried, row);
  for (int left = kPutBackAtOnce; row.todo == FlowTodo::kRetry && left > 0;) {
    left -= std::max(1, putBack(row, kPutBackTogether));
  }
  return static_cast<std::int64_t>(plan.put_back.size());
}

int FlowRetrying::putBack(FlowRow& row, int most) {
  struct Marked {
    JobRow job;
    std::int64_t remaining;
    EndedAs ended_as;
  };
  std::vector<Marked> marked;
  {
    auto rows = s_.db.query(kNextPutBack, row.seq, most);
    while (rows.next()) {
      marked.push_back({Jobs::readRow(*rows, false), rows->integer(kRemainingColumn),
                        static_cast<EndedAs>(rows->integer(kRemainingColumn + 1))});
    }
  }
  std::vector<std::int64_t> looks_anew;
  for (const Marked& item : marked) {
    if ((item.job.links & job_link::kHasInputs) != 0) looks_anew.push_back(item.job.seq);
  }
  ResourceRefs refs(s_);
  if (!looks_anew.empty()) {
    refs.settle();  // what ended is counted with what it found then
    refs.forgetInputs(looks_anew);
  }
  NumberRows put_back, cancelled_again;
  std::vector<std::int64_t> seqs;
  std::vector<JobRow> with_inputs;
  std::int64_t blocked = 0, poisoned = 0, cancelled = 0;
  for (Marked& item : marked) {
    Job& job = item.job.job;
    seqs.push_back(item.job.seq);
    const JobStatus was = job.status;
    poisoned -= was == JobStatus::kPoisoned ? 1 : 0;
    cancelled -= was == JobStatus::kCancelled ? 1 : 0;
    if (item.ended_as != EndedAs::kItself) {
      cancelled_again.add(item.job.seq, static_cast<int>(item.ended_as));
      cancelled += 1;
      if (was != JobStatus::kCancelled) s_.countMove(item.job, was, JobStatus::kCancelled);
      continue;
    }
    const bool waits = item.remaining > 0;
    put_back.add(item.job.seq, waits ? 1 : 0);
    blocked += waits ? 1 : 0;
    job.status = waits ? JobStatus::kBlocked : JobStatus::kPending;
    job.attempts = 0;
    s_.countMove(item.job, was, job.status);
    Jobs(s_).emit(event_type::kJobRetried, item.job, waits ? R"({"blocked":true})" : "");
    const bool has_inputs = (item.job.links & job_link::kHasInputs) != 0;
    if (has_inputs && !waits) with_inputs.push_back(item.job);
  }
  s_.ended.clear();  // what was cancelled again is counted in its level
  if (!put_back.empty()) s_.db.post(kPutBack, put_back.text(), s_.now);
  if (!cancelled_again.empty()) s_.db.post(kCancelAgain, cancelled_again.text());
  refs.settle();
  if (!seqs.empty()) {
    s_.db.post(kUnmark, numberList(seqs));
    s_.db.post(kCountPutBack, row.seq, blocked, poisoned, cancelled);
  }
  if (seqs.size() < static_cast<std::size_t>(most)) s_.db.post(kAllPutBack, row.seq);
  if (!with_inputs.empty()) {
    FlowInputs(s_).give(with_inputs);
    FlowSettling(s_).settleEnded();
    refs.settle();
  }
  row = *FlowRows(s_).at(row.seq);
  if (row.todo != FlowTodo::kNothing) FlowRows(s_).leaveUnsettled();
  return static_cast<int>(seqs.size());
}

}  // namespace muster

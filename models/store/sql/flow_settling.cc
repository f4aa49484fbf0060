#include "models/store/sql/flow_settling.h"

#include <algorithm>
#include <utility>

#include "models/json/json_writer.h"
#include "models/store/sql/flow_ending.h"
#include "models/store/sql/flow_inputs.h"
#include "models/store/sql/flow_retrying.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/resource_refs.h"

namespace muster {
namespace {

// Jobs that ended, with what is to be known of their flows, and the edges that go from them. $1 has
// their numbers, up to where their edges are told, and whether edges are asked for.
#define MUSTER_LOOK                                                                             \
  "SELECT 0, f.seq, f.flow_seq, f.parent_seq, f.may_fail, f.ended_as, f.children_open, "        \
  "f.children_failed, f.children_cancelled, f.told_to, f.todo, "                                \
  "CASE WHEN w.cause <> '' THEN 1 ELSE 0 END, w.fail_fast, "                                    \
  "w.todo, j.status FROM /*rows $1 3*/ d CROSS JOIN flow_jobs f CROSS JOIN flows w "            \
  "LEFT JOIN jobs j ON j.seq = f.seq WHERE f.seq = d.c0 AND w.flow_seq = f.flow_seq UNION ALL " \
  "SELECT 1, e.upstream_seq, e.downstream_seq, e.condition, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "     \
  "NULL FROM "
// The first $2 edges in the order of the jobs.
constexpr Sql kLook{MUSTER_LOOK
                    "(SELECT e.upstream_seq, e.downstream_seq, e.condition "
                    "FROM /*rows $1 3*/ d CROSS JOIN flow_edges e WHERE d.c2 = 1 "
                    "AND e.upstream_seq = d.c0 AND e.downstream_seq > d.c1 LIMIT $2) e"};
// PostgreSQL: the first $2 edges of each job.
constexpr Sql kLookOfEach{
    MUSTER_LOOK
    "/*rows $1 3*/ d CROSS JOIN LATERAL (SELECT o.upstream_seq, o.downstream_seq, o.condition "
    "FROM flow_edges o WHERE o.upstream_seq = d.c0 AND o.downstream_seq > d.c1 "
    "ORDER BY o.downstream_seq LIMIT $2) e WHERE d.c2 = 1"};

// Columns of $1: number, edges met, open, failed and cancelled children, ended_as (0: as it is),
// todo and told_to (-1: as it is). A job whose last open child this was is to be told of.
#define MUSTER_CHANGE_FLOW_JOBS                                                                \
  "UPDATE flow_jobs SET remaining = remaining - d.c1, children_open = children_open - d.c2, "  \
  "children_failed = children_failed + d.c3, children_cancelled = children_cancelled + d.c4, " \
  "ended_as = CASE WHEN d.c5 > 0 THEN d.c5 ELSE ended_as END, "                                \
  "todo = CASE WHEN d.c2 > 0 AND children_open = d.c2 THEN 1 "                                 \
  "WHEN d.c6 >= 0 THEN d.c6 ELSE todo END, "                                                   \
  "told_to = CASE WHEN d.c7 >= 0 THEN d.c7 ELSE told_to END "                                  \
  "FROM /*rows $1 8*/ d WHERE flow_jobs.seq = d.c0 "                                           \
  "RETURNING flow_jobs.seq, flow_jobs.remaining, flow_jobs.todo, flow_jobs.delay_ms"
constexpr Sql kChangeFlowJobs{MUSTER_CHANGE_FLOW_JOBS};

// $1: number, EndedAs.
constexpr Sql kCancelBlocked{
    "WITH held AS MATERIALIZED (SELECT d.* FROM /*rows $1 2*/ d CROSS JOIN jobs f "
    "WHERE f.seq = d.c0 /*lock_by f.seq*/) "
    "UPDATE jobs SET status = 'cancelled', finished_at = $2, version = version + 1, "
    "reason = CASE held.c1 WHEN 1 THEN 'upstream_failed' WHEN 2 THEN 'upstream_cancelled' "
    "ELSE 'not_needed' END FROM held WHERE jobs.seq = held.c0 AND jobs.status = 'blocked' "
    "RETURNING " MUSTER_JOB_COLUMNS_OF("jobs")};
// $1: number, delay. Who sets these free holds them by their rows in flow_jobs. The || keeps to the
// index of numbers.
#define MUSTER_UNBLOCK(jobs_and_delays)                                                      \
  "UPDATE jobs SET status = 'pending', version = version + 1, "                              \
  "available_at = CASE WHEN available_at > $2 + d.c1 THEN available_at ELSE $2 + d.c1 END, " \
  "delayed = CASE WHEN available_at > $2 OR d.c1 > 0 THEN 1 ELSE 0 END "                     \
  "FROM " jobs_and_delays                                                                    \
  " d WHERE jobs.seq = d.c0 AND jobs.status || '' = 'blocked' "                              \
  "RETURNING " MUSTER_JOB_COLUMNS_OF("jobs")
constexpr Sql kUnblock{MUSTER_UNBLOCK("/*rows $1 2*/")};
// PostgreSQL: both in one step. Rows of flow_jobs are changed in the order of the list.
constexpr Sql kChangeAndUnblock{
    "WITH changed AS (" MUSTER_CHANGE_FLOW_JOBS ", d.c1 AS met, d.c5 AS ended_as), "
    "unblocked AS (" MUSTER_UNBLOCK(
        "(SELECT seq AS c0, delay_ms AS c1 FROM changed "
        "WHERE remaining = 0 AND met > 0 AND ended_as = 0)") ") "
    "SELECT " MUSTER_JOB_COLUMNS ", marked.jobs FROM "
    "(SELECT count(*) AS jobs FROM changed WHERE todo <> 0) AS marked "
    "LEFT JOIN unblocked j ON TRUE"};
constexpr int kMarkedColumn = 26;

// $1: number, then what is added to blocked, done, poisoned, cancelled, taken from top_open, added
// to top_failed, top_cancelled, whether it is to be cancelled. A closed flow without open jobs
// ends.
constexpr Sql kChangeFlows{
    "WITH held AS MATERIALIZED (SELECT d.* FROM /*rows $1 9*/ d CROSS JOIN flows w "
    "WHERE w.flow_seq = d.c0 /*lock_by w.flow_seq*/) "
    "UPDATE flows SET blocked = blocked + held.c1, done = done + held.c2, "
    "poisoned = poisoned + held.c3, cancelled = cancelled + held.c4, "
    "top_open = top_open - held.c5, top_failed = top_failed + held.c6, "
    "top_cancelled = top_cancelled + held.c7, "
    "cause = CASE WHEN held.c8 = 1 AND cause = '' THEN 'fail_fast' ELSE cause END, "
    "reason = CASE WHEN held.c8 = 1 AND cause = '' THEN 'fail_fast' ELSE reason END, "
    "status = CASE WHEN held.c8 = 1 AND cause = '' THEN 'cancelling' ELSE status END, "
    "version = CASE WHEN held.c8 = 1 AND cause = '' THEN version + 1 ELSE version END, "
    "closed = CASE WHEN held.c8 = 1 THEN 1 ELSE closed END, "
    "todo_after = CASE WHEN held.c8 = 1 AND cause = '' THEN 0 ELSE todo_after END, "
    "todo = CASE WHEN todo > 1 THEN todo WHEN held.c8 = 1 AND cause = '' THEN 2 "
    "WHEN closed = 1 AND top_open = held.c5 AND ended_at IS NULL THEN 1 ELSE todo END "
    "FROM held WHERE flows.flow_seq = held.c0 RETURNING flows.todo"};

constexpr Sql kMarked{
    "SELECT seq, told_to FROM flow_jobs WHERE todo <> 0 AND todo = $1 "
    "ORDER BY todo, flow_seq, seq LIMIT $2"};
constexpr Sql kSomeMarked{
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM flow_jobs WHERE todo <> 0) "
    "OR EXISTS (SELECT 1 FROM flows WHERE todo <> 0)"};

constexpr Sql kLowestJob{"SELECT seq FROM flow_jobs ORDER BY seq LIMIT 1"};
constexpr Sql kRenumberJob{"UPDATE flow_jobs SET seq = $2 WHERE seq = $1"};
constexpr Sql kRenumberUpstream{"UPDATE flow_edges SET upstream_seq = $2 WHERE upstream_seq = $1"};
constexpr Sql kRenumberDownstream{
    "UPDATE flow_edges SET downstream_seq = $2 WHERE downstream_seq = $1"};
constexpr Sql kRenumberParent{
    "UPDATE flow_jobs SET parent_seq = $2 WHERE parent_seq = $1 "
    "AND flow_seq = (SELECT p.flow_seq FROM flow_jobs p WHERE p.seq = $2)"};

constexpr int kToldMarkedAtOnce = 250;

}  // namespace

FlowSettling::Looks FlowSettling::look(std::span<const Wanted> wanted, int most) {
  NumberRows list;
  std::size_t with_edges = 0;
  for (const Wanted& job : wanted) {
    list.add(job.seq, job.told_to, job.edges ? 1 : 0);
    with_edges += job.edges ? 1 : 0;
  }
  const bool of_each = s_.db.hasPeers();
  // One more than can be told shows that there are more.
  const int limit =
      1 + (of_each ? std::max(16, most / static_cast<int>(std::max<std::size_t>(with_edges, 1)))
                   : most);
  Looks looks;
  auto rows = s_.db.query(of_each ? kLookOfEach : kLook, list.text(), limit);
  while (rows.next()) {
    if (rows->integer(0) == 1) {
      looks.edges.push_back(
          {rows->integer(1), rows->integer(2), static_cast<EdgeCondition>(rows->integer(3))});
      continue;
    }
    Looked& job = looks.jobs.emplace_back();
    job.seq = rows->integer(1);
    job.flow = rows->integer(2);
    job.parent = rows->integer(3);
    job.may_fail = rows->integer(4) != 0;
    job.ended_as = static_cast<EndedAs>(rows->integer(5));
    job.children = {rows->integer(6), rows->integer(7), rows->integer(8)};
    job.told_to = rows->integer(9);
    job.todo = static_cast<FlowJobTodo>(rows->integer(10));
    job.cancelling = rows->integer(11) != 0;
    job.fail_fast = rows->integer(12) != 0;
    job.retrying = rows->integer(13) == static_cast<int>(FlowTodo::kRetry);
    if (!rows->isNull(14)) job.status = parseJobStatus(rows->text(14));
  }
  if (of_each) {
    looks.most_of_one = static_cast<std::size_t>(limit);
  } else if (looks.edges.size() == static_cast<std::size_t>(limit)) {
    looks.cut_at = looks.edges.back().upstream;
  }
  std::sort(looks.jobs.begin(), looks.jobs.end(),
            [](const Looked& a, const Looked& b) { return a.seq < b.seq; });
  std::sort(looks.edges.begin(), looks.edges.end(), [](const Edge& a, const Edge& b) {
    return std::pair(a.upstream, a.downstream) < std::pair(b.upstream, b.downstream);
  });
  return looks;
}

void FlowSettling::count(FlowChange& flow, JobStatus from, JobStatus to) {
  if (from == JobStatus::kBlocked) flow.blocked -= 1;
  if (to == JobStatus::kBlocked) flow.blocked += 1;
  if (to == JobStatus::kDone) flow.done += 1;
  if (to == JobStatus::kPoisoned) flow.poisoned += 1;
  if (to == JobStatus::kCancelled) flow.cancelled += 1;
}

int FlowSettling::tell(const Looked& job, const Looks& looks, JobStatus status, int most,
                       Changes& changes) {
  const Verdict verdict =
      *verdictOf(status, job.ended_as, {0, job.children.failed, job.children.cancelled});
  const bool is_first = job.todo != FlowJobTodo::kTellEdges;
  if (is_first) {
    const LevelCounts counted = countedAs(verdict, job.ended_as, job.may_fail);
    if (job.parent == 0) {
      FlowChange& flow = changes.flows[job.flow];
      flow.top.open += 1;
      flow.top.failed += counted.failed;
      flow.top.cancelled += counted.cancelled;
    } else {
      JobChange& parent = changes.jobs[job.parent];
      parent.open += 1;
      parent.failed += counted.failed;
      parent.cancelled += counted.cancelled;
    }
  }
  const auto setTodo = [&](FlowJobTodo todo) {
    if (todo != job.todo) changes.jobs[job.seq].todo = todo;
  };
  // Of a flow that is cancelled nothing waits for the verdict of another.
  if (job.cancelling) {
    setTodo(FlowJobTodo::kNothing);
    return 0;
  }
  auto edge = std::lower_bound(
      looks.edges.begin(), looks.edges.end(), job.seq,
      [](const Edge& candidate, std::int64_t seq) { return candidate.upstream < seq; });
  const auto begin = edge;
  int told = 0;
  for (; edge != looks.edges.end() && edge->upstream == job.seq && told < most; ++edge, ++told) {
    if (const auto cancelled = judgeEdge(edge->condition, verdict)) {
      changes.cancelled.try_emplace(edge->downstream, Cancelled{job.flow, *cancelled});
    } else {
      changes.jobs[edge->downstream].met += 1;
      changes.flow_of.try_emplace(edge->downstream, job.flow);
    }
  }
  const bool all_seen = edge == looks.edges.end() || edge->upstream != job.seq;
  const bool may_be_cut =
      (looks.cut_at && job.seq >= *looks.cut_at) ||
      (looks.most_of_one > 0 && static_cast<std::size_t>(edge - begin) >= looks.most_of_one);
  if (all_seen && !may_be_cut) {
    setTodo(FlowJobTodo::kNothing);
  } else {
    setTodo(FlowJobTodo::kTellEdges);
    if (told > 0) changes.jobs[job.seq].told_to = (edge - 1)->downstream;
  }
  return told;
}

void FlowSettling::cancelDownstream(Changes& changes) {
  if (changes.cancelled.empty()) return;
  NumberRows list;
  for (const auto& [seq, cancelled] : changes.cancelled) {
    list.add(seq, static_cast<int>(cancelled.ended_as));
  }
  auto rows = Jobs::readAll(s_.db.query(kCancelBlocked, list.text(), s_.now));
  std::sort(rows.begin(), rows.end(),
            [](const JobRow& a, const JobRow& b) { return a.seq < b.seq; });
  for (const JobRow& row : rows) {
    const Cancelled& cancelled = changes.cancelled.at(row.seq);
    s_.countMove(row, JobStatus::kBlocked, JobStatus::kCancelled);
    Jobs(s_).emit(event_type::kJobCancelled, row,
                  JsonWriter().beginObject().field("reason", row.job.reason).endObject().take());
    count(changes.flows[cancelled.flow], JobStatus::kBlocked, JobStatus::kCancelled);
    JobChange& change = changes.jobs[row.seq];
    change.ended_as = cancelled.ended_as;
    if ((row.links & job_link::kHasChildren) != 0) {
      change.open += 1;
    } else {
      change.todo = FlowJobTodo::kTellVerdict;
    }
  }
  s_.ended.clear();  // these are marked
}

bool FlowSettling::changeJobs(Changes& changes) {
  if (changes.jobs.empty()) return false;
  NumberRows list;
  for (const auto& [seq, change] : changes.jobs) {
    list.add(seq, change.met, change.open, change.failed, change.cancelled,
             static_cast<int>(change.ended_as), change.todo ? static_cast<int>(*change.todo) : -1,
             change.told_to.value_or(-1));
  }
  bool marked = false;
  std::vector<JobRow> unblocked;
  if (s_.db.hasPeers()) {
    auto rows = s_.db.query(kChangeAndUnblock, list.text(), s_.now);
    while (rows.next()) {
      marked = marked || rows->integer(kMarkedColumn) > 0;
      if (!rows->isNull(0)) unblocked.push_back(Jobs::readRow(*rows, false));
    }
  } else {
    NumberRows free;
    {
      auto rows = s_.db.query(kChangeFlowJobs, list.text());
      while (rows.next()) {
        const std::int64_t seq = rows->integer(0);
        const JobChange& change = changes.jobs.at(seq);
        marked = marked || rows->integer(2) != 0;
        const bool is_free =
            rows->integer(1) == 0 && change.met > 0 && change.ended_as == EndedAs::kItself;
        if (is_free) free.add(seq, rows->integer(3));
      }
    }
    if (!free.empty()) unblocked = Jobs::readAll(s_.db.query(kUnblock, free.text(), s_.now));
  }
  std::sort(unblocked.begin(), unblocked.end(),
            [](const JobRow& a, const JobRow& b) { return a.seq < b.seq; });
  auto inputs = FlowInputs(s_).find(unblocked);
  NumberRows without;
  for (JobRow& row : unblocked) {
    s_.countMove(row, JobStatus::kBlocked, JobStatus::kPending);
    FlowChange& flow = changes.flows[changes.flow_of.at(row.seq)];
    const auto found = inputs.find(row.seq);
    if (found != inputs.end() && !found->second.refs.reason.empty()) {
      Jobs(s_).poisonWaiting(row, found->second.refs.reason);
      count(flow, JobStatus::kBlocked, JobStatus::kPoisoned);
      flow.fail_fast = flow.fail_fast || found->second.ends_flow;
      const bool has_children = (row.links & job_link::kHasChildren) != 0;
      without.add(row.seq, 0, has_children ? 1 : 0, 0, 0, 0,
                  has_children ? -1 : static_cast<int>(FlowJobTodo::kTellVerdict), -1);
      continue;
    }
    Jobs(s_).emit(event_type::kJobUnblocked, row);
    count(flow, JobStatus::kBlocked, JobStatus::kPending);
    if (found != inputs.end()) {
      changes.inputs.emplace(row.seq, std::move(found->second.refs.refs));
    }
  }
  if (!without.empty()) {
    s_.ended.clear();  // these are marked
    s_.db.post(kChangeFlowJobs, without.text());
    marked = true;
  }
  return marked;
}

void FlowSettling::write(Changes& changes) {
  cancelDownstream(changes);
  bool unsettled = changeJobs(changes);
  if (!changes.flows.empty()) {
    NumberRows list;
    for (const auto& [seq, flow] : changes.flows) {
      list.add(seq, flow.blocked, flow.done, flow.poisoned, flow.cancelled, flow.top.open,
               flow.top.failed, flow.top.cancelled, flow.fail_fast ? 1 : 0);
    }
    auto rows = s_.db.query(kChangeFlows, list.text());
    while (rows.next()) unsettled = unsettled || rows->integer(0) != 0;
  }
  for (const auto& [seq, inputs] : changes.inputs) ResourceRefs(s_).addInputs(seq, inputs);
  if (unsettled) FlowRows(s_).leaveUnsettled();
}

void FlowSettling::settleEnded() {
  if (s_.ended.empty()) return;
  auto ended = std::exchange(s_.ended, {});
  std::sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  std::vector<Wanted> wanted;
  for (const Session::EndedJob& job : ended) {
    const bool tells = (job.links & job_link::kHasDownstream) != 0 &&
                       (job.links & job_link::kHasChildren) == 0 && !isFinished(job.from);
    wanted.push_back({job.seq, 0, tells});
  }
  const Looks looks = look(wanted, kMostSettled);
  Changes changes;
  std::vector<std::int64_t> gone;
  int left = kMostSettled;
  auto next = ended.begin();
  for (const Looked& found : looks.jobs) {
    next = std::lower_bound(next, ended.end(), found.seq,
                            [](const auto& job, std::int64_t seq) { return job.seq < seq; });
    Looked job = found;
    if (next->gone) {
      gone.push_back(job.seq);
      changes.jobs[job.seq].ended_as = goneAs(next->to, job.ended_as);
    }
    if (isFinished(next->from)) continue;  // its end was seen to before it went
    FlowChange& flow = changes.flows[job.flow];
    count(flow, next->from, next->to);
    flow.fail_fast = flow.fail_fast || (next->to == JobStatus::kPoisoned && job.fail_fast &&
                                        !job.may_fail && !job.cancelling);
    if ((next->links & job_link::kHasChildren) != 0) {
      changes.jobs[job.seq].open += 1;
    } else if (job.retrying) {
      changes.jobs[job.seq].todo = FlowJobTodo::kTellVerdict;
    } else {
      left -= tell(job, looks, next->to, left, changes);
    }
  }
  write(changes);
  renumberGone(gone);
}

// So that another job can have the number. One that had it before may be gone as well.
void FlowSettling::renumberGone(std::span<const std::int64_t> jobs) {
  if (jobs.empty()) return;
  std::int64_t number = 0;
  {
    auto lowest = s_.db.query(kLowestJob);
    if (lowest.next()) number = std::min(number, lowest->integer(0));
  }
  for (const std::int64_t job : jobs) {
    --number;
    for (const Sql& statement :
         {kRenumberJob, kRenumberUpstream, kRenumberDownstream, kRenumberParent}) {
      s_.db.post(statement, job, number);
    }
  }
}

int FlowSettling::tellMarked(FlowJobTodo todo, int most) {
  std::vector<Wanted> wanted;
  {
    auto rows = s_.db.query(kMarked, static_cast<int>(todo), std::min(most, kToldMarkedAtOnce));
    while (rows.next()) {
      wanted.push_back({rows->integer(0),
                        todo == FlowJobTodo::kTellEdges ? rows->integer(1) : std::int64_t{0},
                        true});
    }
  }
  if (wanted.empty()) return 0;
  std::sort(wanted.begin(), wanted.end(),
            [](const Wanted& a, const Wanted& b) { return a.seq < b.seq; });
  const Looks looks = look(wanted, most);
  Changes changes;
  int done = 0;
  for (const Looked& job : looks.jobs) {
    if (done >= most) break;  // the others stay marked
    // The status of a job that is gone stands in ended_as.
    const JobStatus status = job.status.value_or(JobStatus::kCancelled);
    done += std::max(1, tell(job, looks, status, most - done, changes));
  }
  write(changes);
  return done;
}

bool FlowSettling::hasUnsettled() { return s_.db.query(kSomeMarked).next(); }

SettleFlows::Reply FlowSettling::step(int most) {
  settleEnded();
  SettleFlows::Reply reply;
  FlowRows flows(s_);
  while (reply.settled < most) {
    const int left = most - static_cast<int>(reply.settled);
    // Before verdicts are told: jobs that are put back wait for some of them.
    if (auto flow = flows.firstWith(FlowTodo::kRetry)) {
      reply.settled += std::max(1, FlowRetrying(s_).putBack(*flow, left));
    } else if (const int told = tellMarked(FlowJobTodo::kTellVerdict, left)) {
      reply.settled += told;
    } else if (const int more = tellMarked(FlowJobTodo::kTellEdges, left)) {
      reply.settled += more;
    } else if (auto cancelled = flows.firstWith(FlowTodo::kCancel)) {
      reply.settled += std::max(1, FlowEnding(s_).cancelSome(*cancelled, left));
    } else if (auto over = flows.firstWith(FlowTodo::kEnd)) {
      FlowEnding(s_).end(*over);
      reply.settled += 1;
    } else if (auto removed = flows.firstWith(FlowTodo::kRemove)) {
      reply.settled += std::max(1, FlowEnding(s_).removeSome(*removed, left));
    } else {
      break;
    }
  }
  ResourceRefs(s_).settle();  // so that the next unit of the transaction sees who uses what
  reply.more = reply.settled >= most && hasUnsettled();
  return reply;
}

}  // namespace muster

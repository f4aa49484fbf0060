#include <algorithm>
#include <charconv>
#include <limits>

#include "models/operations/flows.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/flow_upstream.h"
#include "models/store/sql/job_sql.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr int kLooksAtOnce = 500;
constexpr int kMostLooks = 20'000;  // for one page, where a filter passes over much
constexpr std::size_t kMostFailedShown = 10;
constexpr std::size_t kFlowPageBytes = 4 << 20;
constexpr std::size_t kPlacesAtOnce = 20;

constexpr Sql kNextPlaces{
    "SELECT f.seq, f.parent_seq, j.status FROM flow_jobs f CROSS JOIN jobs j "
    "WHERE f.flow_seq = $1 AND f.seq > $2 AND j.seq = f.seq ORDER BY f.seq LIMIT $3"};
constexpr Sql kFailedJob{
    "SELECT f.name, j.id, j.reason, j.error FROM flow_jobs f CROSS JOIN jobs j "
    "WHERE f.seq = $1 AND j.seq = f.seq"};
constexpr Sql kJobsAt{MUSTER_SELECT_JOB_WITH_DATA
                      "WHERE j.seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
// In the order of downstream, then upstream jobs.
constexpr Sql kNextEdges{
    "SELECT f.seq, e.upstream_seq, u.name, f.name, e.condition FROM flow_jobs f "
    "CROSS JOIN flow_edges e CROSS JOIN flow_jobs u WHERE f.flow_seq = $1 AND f.seq >= $2 "
    "AND e.downstream_seq = f.seq AND (f.seq > $2 OR e.upstream_seq > $3) "
    "AND u.seq = e.upstream_seq ORDER BY f.seq, e.upstream_seq LIMIT $4"};
constexpr Sql kCountFlowsByStatus{
    "SELECT status, count(*) FROM flows WHERE status = $1 GROUP BY status"};
constexpr Sql kCountUnsettled{
    "SELECT (SELECT count(*) FROM flow_jobs WHERE todo <> 0) + "
    "(SELECT count(*) FROM flows WHERE todo <> 0)"};

std::int64_t numberOf(std::string_view text, std::int64_t otherwise) {
  std::int64_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool mayRead(const Grants& grants, const std::vector<std::string>& pools) {
  return !pools.empty() && std::all_of(pools.begin(), pools.end(), [&](const std::string& pool) {
    return permitsIn(grants, Scope::kRead, pool);
  });
}

// The numbers of jobs of a flow behind `after`, in their order, until there are `most` that
// `matches(parent, status)`; and where to go on, 0: there are no more.
struct Places {
  std::vector<std::int64_t> seqs;
  std::int64_t after = 0;
};
template <class Matches>
Places findPlaces(Session& session, std::int64_t flow, std::int64_t after, std::size_t most,
                  Matches matches) {
  Places places{{}, after};
  for (int looks = 0; looks < kMostLooks; looks += kLooksAtOnce) {
    int read = 0;
    auto rows = session.db.query(kNextPlaces, flow, places.after, kLooksAtOnce);
    for (; rows.next(); ++read) {
      if (!matches(rows->integer(1), rows->text(2))) {
        places.after = rows->integer(0);
        continue;
      }
      if (places.seqs.size() == most) return places;
      places.after = rows->integer(0);
      places.seqs.push_back(places.after);
    }
    if (read < kLooksAtOnce) return {std::move(places.seqs), 0};
  }
  return places;
}

}  // namespace

Result<FlowShown> run(const FindFlow& op, Store& store) {
  Session& session = store.session;
  const auto row = FlowRows(session).find(op.flow);
  if (!row) return noFlow(op.flow);
  FlowShown shown{row->flow, {}};
  const auto wanted =
      std::min(kMostFailedShown, static_cast<std::size_t>(row->flow.counts.poisoned));
  if (wanted == 0) return shown;
  const auto places = findPlaces(session, row->seq, 0, wanted, [](auto, std::string_view status) {
    return status == name(JobStatus::kPoisoned);
  });
  for (const std::int64_t seq : places.seqs) {
    auto job = session.db.query(kFailedJob, seq);
    if (!job.next()) continue;
    shown.failed_jobs.push_back(
        {job->string(0), JobId(job->string(1)), job->string(2), job->string(3)});
  }
  return shown;
}

Result<ListFlows::Reply> run(const ListFlows& op, Store& store) {
  ListFlows::Reply reply;
  const bool sees_all = !op.readable || permitsEverywhere(*op.readable, Scope::kRead);
  std::int64_t below = numberOf(op.cursor, std::numeric_limits<std::int64_t>::max());
  for (int looks = 0; looks < kMostLooks; looks += kLooksAtOnce) {
    const auto rows = FlowRows(store.session).list(op.status, op.name, below, kLooksAtOnce);
    for (const FlowRow& row : rows) {
      const bool matches = (!op.status || row.flow.status == *op.status) &&
                           (op.tenant.empty() || row.flow.tenant == op.tenant) &&
                           (sees_all || mayRead(*op.readable, row.poolList()));
      if (matches && reply.flows.size() == static_cast<std::size_t>(op.limit)) {
        reply.next_cursor = std::to_string(below);
        return reply;
      }
      below = row.seq;
      if (matches) reply.flows.push_back(row.flow);
    }
    if (rows.size() < static_cast<std::size_t>(kLooksAtOnce)) return reply;
  }
  reply.next_cursor = std::to_string(below);
  return reply;
}

Result<ListFlowJobs::Reply> run(const ListFlowJobs& op, Store& store) {
  Session& session = store.session;
  const auto row = FlowRows(session).find(op.flow);
  if (!row) return noFlow(op.flow);
  std::optional<std::int64_t> parent;
  if (!op.parent.empty()) {
    const auto found = store.jobs().load(JobId(op.parent), false);
    if (!found) return ListFlowJobs::Reply{};
    parent = found->seq;
  }
  const auto places = findPlaces(
      session, row->seq, numberOf(op.cursor, 0), static_cast<std::size_t>(op.limit),
      [&](std::int64_t parent_seq, std::string_view status) {
        return (!parent || parent_seq == *parent) && (!op.status || status == name(*op.status));
      });
  ListFlowJobs::Reply reply;
  if (places.after != 0) reply.next_cursor = std::to_string(places.after);
  std::size_t bytes = 0;
  std::int64_t last = 0;
  for (std::size_t first = 0; first < places.seqs.size(); first += kPlacesAtOnce) {
    const std::size_t count = std::min(kPlacesAtOnce, places.seqs.size() - first);
    std::vector<JobRow> jobs;
    {
      auto rows = session.db.query(kJobsAt, numberList({&places.seqs[first], count}));
      while (rows.next()) jobs.push_back(Jobs::readRow(*rows, true));
    }
    std::sort(jobs.begin(), jobs.end(),
              [](const JobRow& a, const JobRow& b) { return a.seq < b.seq; });
    FlowRows(session).attach(jobs);
    for (JobRow& job : jobs) {
      bytes += payloadBytes(job.job);
      if (bytes > kFlowPageBytes && !reply.jobs.empty()) {
        reply.next_cursor = std::to_string(last);
        return reply;
      }
      last = job.seq;
      reply.jobs.push_back(std::move(job.job));
    }
  }
  return reply;
}

Result<ListFlowEdges::Reply> run(const ListFlowEdges& op, Store& store) {
  const auto row = FlowRows(store.session).find(op.flow);
  if (!row) return noFlow(op.flow);
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  std::int64_t downstream = kFirst, upstream = kFirst;
  if (const std::size_t colon = op.cursor.find(':'); colon != std::string::npos) {
    downstream = numberOf(op.cursor, kFirst);
    upstream = numberOf(std::string_view(op.cursor).substr(colon + 1), kFirst);
  }
  ListFlowEdges::Reply reply;
  auto rows = store.session.db.query(kNextEdges, row->seq, downstream, upstream, op.limit + 1);
  while (rows.next()) {
    if (reply.edges.size() == static_cast<std::size_t>(op.limit)) {
      reply.next_cursor = std::to_string(downstream) + ':' + std::to_string(upstream);
      break;
    }
    downstream = rows->integer(0);
    upstream = rows->integer(1);
    reply.edges.push_back(
        {rows->string(2), rows->string(3), static_cast<EdgeCondition>(rows->integer(4))});
  }
  return reply;
}

Result<ListUpstream::Reply> run(const ListUpstream& op, Store& store) {
  const auto job = store.jobs().load(op.job, false);
  if (!job) return tl::unexpected(noJob(op.job));
  ListUpstream::Reply reply;
  if ((job->links & job_link::kHasUpstream) == 0) return reply;
  auto page = FlowUpstream(store.session).page(job->seq, op.cursor, op.limit, kFlowPageBytes);
  reply.items = std::move(page.items);
  reply.next_cursor = std::move(page.next_cursor);
  return reply;
}

Result<CountFlows::Reply> run(const CountFlows&, Store& store) {
  CountFlows::Reply reply;
  for (const FlowStatus status :
       {FlowStatus::kRunning, FlowStatus::kCancelling, FlowStatus::kSucceeded, FlowStatus::kFailed,
        FlowStatus::kCancelled}) {
    auto rows = store.session.db.query(kCountFlowsByStatus, name(status));
    reply.by_status.emplace_back(name(status), rows.next() ? rows->integer(1) : 0);
  }
  auto rows = store.session.db.query(kCountUnsettled);
  if (rows.next()) reply.unsettled = rows->integer(0);
  return reply;
}

}  // namespace muster

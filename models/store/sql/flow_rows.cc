#include "models/store/sql/flow_rows.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "models/json/flow_json.h"
#include "models/store/sql/flow_upstream.h"

namespace muster {
namespace {

#define MUSTER_SELECT_FLOW                                                                    \
  "SELECT w.flow_seq, w.flow_id, w.name, w.tenant, w.priority, w.status, w.cause, w.reason, " \
  "w.closed, w.round, w.fail_fast, w.deadline_at, w.callbacks, w.metadata, w.pools, "         \
  "w.created_at, w.began_at, w.ended_at, w.version, w.total, w.blocked, w.done, w.poisoned, " \
  "w.cancelled, w.top_open, w.top_failed, w.top_cancelled, w.todo, w.todo_after FROM flows w "
constexpr Sql kFindFlow{MUSTER_SELECT_FLOW "WHERE w.flow_id = $1 AND w.todo <> 4"};
constexpr Sql kFlowAt{MUSTER_SELECT_FLOW "WHERE w.flow_seq = $1"};
// The first condition is that of the index.
constexpr Sql kFirstFlowWith{MUSTER_SELECT_FLOW
                             "WHERE w.todo <> 0 AND w.todo = $1 ORDER BY w.flow_seq LIMIT 1"};
constexpr Sql kFlowOfJob{MUSTER_SELECT_FLOW
                         "WHERE w.flow_seq = (SELECT flow_seq FROM flow_jobs WHERE seq = $1)"};
constexpr Sql kListFlows{MUSTER_SELECT_FLOW
                         "WHERE w.flow_seq < $1 AND w.todo <> 4 ORDER BY w.flow_seq DESC LIMIT $2"};
constexpr Sql kListFlowsOfStatus{MUSTER_SELECT_FLOW
                                 "WHERE w.status = $3 AND w.flow_seq < $1 AND w.todo <> 4 "
                                 "ORDER BY w.flow_seq DESC LIMIT $2"};
constexpr Sql kListFlowsOfName{MUSTER_SELECT_FLOW
                               "WHERE w.name = $3 AND w.name <> '' AND w.flow_seq < $1 "
                               "AND w.todo <> 4 ORDER BY w.flow_seq DESC LIMIT $2"};
constexpr Sql kPlaces{
    "SELECT f.seq, w.flow_id, w.name, w.round, f.name, p.id, f.may_fail, f.remaining "
    "FROM /*numbers $1*/ d CROSS JOIN flow_jobs f CROSS JOIN flows w "
    "LEFT JOIN jobs p ON p.seq = f.parent_seq WHERE f.seq = d.c0 AND w.flow_seq = f.flow_seq"};
constexpr Sql kCallbackOf{"SELECT flow FROM flow_callbacks WHERE seq = $1"};

FlowRow readFlowRow(const SqlRows& row) {
  FlowRow out;
  Flow& flow = out.flow;
  out.seq = row.integer(0);
  flow.id = FlowId(row.string(1));
  flow.name = row.string(2);
  flow.tenant = row.string(3);
  if (!row.isNull(4)) flow.priority = static_cast<int>(row.integer(4));
  flow.status = parseFlowStatus(row.text(5)).value_or(FlowStatus::kRunning);
  out.cause = row.string(6);
  flow.reason = row.string(7);
  flow.closed = row.integer(8) != 0;
  flow.round = static_cast<int>(row.integer(9));
  flow.fail_fast = row.integer(10) != 0;
  flow.deadline_at = row.maybeTime(11);
  flow.callbacks = row.string(12);
  flow.metadata = row.string(13);
  out.pools = row.string(14);
  flow.created_at = row.time(15);
  flow.began_at = row.time(16);
  flow.ended_at = row.maybeTime(17);
  flow.version = row.integer(18);
  flow.counts = {row.integer(19), row.integer(20), row.integer(21), row.integer(22),
                 row.integer(23)};
  out.top = {row.integer(24), row.integer(25), row.integer(26)};
  out.todo = static_cast<FlowTodo>(row.integer(27));
  out.todo_after = row.integer(28);
  return out;
}

template <class... Args>
std::optional<FlowRow> readOne(Session& s, Sql sql, const Args&... args) {
  auto rows = s.db.query(sql, args...);
  if (!rows.next()) return std::nullopt;
  return readFlowRow(*rows);
}

}  // namespace

std::vector<std::string> FlowRow::poolList() const {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < pools.size();) {
    const std::size_t end = std::min(pools.find(' ', at), pools.size());
    list.push_back(pools.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

std::optional<FlowRow> FlowRows::find(const FlowId& id) { return readOne(s_, kFindFlow, id); }
std::optional<FlowRow> FlowRows::at(std::int64_t seq) { return readOne(s_, kFlowAt, seq); }
std::optional<FlowRow> FlowRows::ofJob(std::int64_t job) { return readOne(s_, kFlowOfJob, job); }
std::optional<FlowRow> FlowRows::firstWith(FlowTodo todo) {
  return readOne(s_, kFirstFlowWith, static_cast<int>(todo));
}

std::vector<FlowRow> FlowRows::list(std::optional<FlowStatus> status, const std::string& name,
                                    std::int64_t below, int limit) {
  std::vector<FlowRow> flows;
  const auto readAll = [&](SqlCursor rows) {
    while (rows.next()) flows.push_back(readFlowRow(*rows));
  };
  if (!name.empty()) {
    readAll(s_.db.query(kListFlowsOfName, below, limit, name));
  } else if (status) {
    readAll(s_.db.query(kListFlowsOfStatus, below, limit, muster::name(*status)));
  } else {
    readAll(s_.db.query(kListFlows, below, limit));
  }
  return flows;
}

void FlowRows::attach(std::span<JobRow> rows) {
  std::unordered_map<std::int64_t, JobRow*> in_flows;
  std::vector<std::int64_t> seqs;
  for (JobRow& row : rows) {
    if ((row.links & job_link::kInFlow) != 0) {
      in_flows.emplace(row.seq, &row);
      seqs.push_back(row.seq);
    } else if ((row.links & job_link::kIsCallback) != 0) {
      auto told = s_.db.query(kCallbackOf, row.seq);
      if (told.next()) {
        row.job.flow = std::make_shared<const JobFlow>(parseCallbackFlow(told->text(0)));
      }
    }
  }
  if (seqs.empty()) return;
  auto places = s_.db.query(kPlaces, numberList(seqs));
  while (places.next()) {
    Job& job = in_flows.at(places->integer(0))->job;
    auto flow = std::make_shared<JobFlow>();
    flow->id = FlowId(places->string(1));
    flow->flow_name = places->string(2);
    flow->round = static_cast<int>(places->integer(3));
    flow->name = places->string(4);
    flow->parent = places->string(5);
    flow->may_fail = places->integer(6) != 0;
    if (job.status == JobStatus::kBlocked) flow->blocked_by = places->integer(7);
    job.flow = std::move(flow);
  }
}

void FlowRows::attachClaimed(std::span<JobRow> rows) {
  attach(rows);
  std::size_t used = 0;
  std::vector<std::int64_t> waited;
  for (const JobRow& row : rows) {
    used += payloadBytes(row.job);
    if (row.job.flow && (row.links & job_link::kHasUpstream) != 0) waited.push_back(row.seq);
  }
  FlowUpstream upstream(s_);
  upstream.readAhead(waited);
  for (JobRow& row : rows) {
    if (!row.job.flow || (row.links & job_link::kHasUpstream) == 0) continue;
    const std::size_t most = s_.rules.max_answer_bytes;
    const std::size_t room =
        std::min(s_.rules.upstream_inline_limit_bytes, most > used ? most - used : 0);
    auto flow = std::make_shared<JobFlow>(*row.job.flow);
    flow->upstream = upstream.inlined(row.seq, room);
    used += flow->upstream.size();
    row.job.flow = std::move(flow);
  }
}

void FlowRows::emit(std::string_view type, const FlowRow& row, Millis took) {
  Event event;
  event.type = type;
  event.details = flowEventDetails(row.flow);
  event.took = took;
  s_.emit(std::move(event));
}

void FlowRows::leaveUnsettled() {
  if (s_.unsettled) return;
  s_.unsettled = true;
  if (s_.rules.on_unsettled) s_.afterCommit(s_.rules.on_unsettled);
}

std::string numberList(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) {
    if (text.size() > 1) text += ',';
    text += std::to_string(number);
  }
  return text + ']';
}

std::string textList(std::span<const std::string> texts) {
  JsonWriter out;
  out.beginArray();
  for (const std::string& text : texts) out.value(text);
  out.endArray();
  return out.take();
}

}  // namespace muster

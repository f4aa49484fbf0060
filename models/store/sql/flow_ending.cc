#include "models/store/sql/flow_ending.h"

#include <algorithm>

#include "models/json/flow_json.h"
#include "models/policy/flow_end.h"
#include "models/store/sql/flow_settling.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/sql/resource_rows.h"

namespace muster {
namespace {

constexpr Sql kBeginCancel{
    "UPDATE flows SET status = 'cancelling', cause = $2, reason = $3, closed = 1, "
    "todo = CASE WHEN todo = 3 THEN 3 ELSE 2 END, todo_after = 0, version = version + 1 "
    "WHERE flow_seq = $1"};
constexpr Sql kNextJobs{"SELECT " MUSTER_JOB_COLUMNS
                        " FROM flow_jobs f CROSS JOIN jobs j WHERE f.flow_seq = $1 AND f.seq > $2 "
                        "AND j.seq = f.seq ORDER BY f.seq LIMIT $3"};
constexpr Sql kCancelTheseWaiting{
    "UPDATE jobs SET status = 'cancelled', delayed = 0, finished_at = $2, reason = $3, "
    "version = version + 1 WHERE seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
constexpr Sql kAskTheseToStop{
    "UPDATE jobs SET cancel_requested = 1, reason = $2, version = version + 1 "
    "WHERE seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
constexpr Sql kCancelledTo{"UPDATE flows SET todo_after = $2 WHERE flow_seq = $1"};
constexpr Sql kAllCancelled{
    "UPDATE flows SET todo = CASE WHEN top_open = 0 THEN 1 ELSE 0 END, todo_after = 0 "
    "WHERE flow_seq = $1 RETURNING top_open"};
constexpr Sql kEndFlow{
    "UPDATE flows SET status = $2, reason = $3, ended_at = $4, deadline_at = NULL, todo = 0, "
    "todo_after = 0, version = version + 1 WHERE flow_seq = $1"};
constexpr Sql kKeepCallback{"INSERT INTO flow_callbacks (seq, flow) VALUES ($1, $2)"};

constexpr Sql kBeginRemove{"UPDATE flows SET todo = 4 WHERE flow_seq = $1"};
constexpr Sql kNextOfFlow{
    "SELECT seq FROM flow_jobs WHERE flow_seq = $1 ORDER BY flow_seq, seq LIMIT $2"};
#define MUSTER_REMOVE_THESE(table, column) \
  "DELETE FROM " table " WHERE " column " IN (SELECT c0 FROM /*numbers $1*/ d)"
constexpr Sql kJobsOfThese{"SELECT " MUSTER_JOB_COLUMNS
                           " FROM /*numbers $1*/ d CROSS JOIN jobs j WHERE j.seq = d.c0"};
constexpr Sql kRemoveJobs{MUSTER_REMOVE_THESE("jobs", "seq")};
constexpr Sql kRemovePayloads{MUSTER_REMOVE_THESE("job_payloads", "seq")};
constexpr Sql kRemoveResults{MUSTER_REMOVE_THESE("job_results", "seq")};
constexpr Sql kRemoveAttempts{MUSTER_REMOVE_THESE("attempts", "seq")};
constexpr Sql kRemoveCallbacks{MUSTER_REMOVE_THESE("flow_callbacks", "seq")};
constexpr Sql kRemovePins{MUSTER_REMOVE_THESE("job_pins", "seq")};
constexpr Sql kRemoveFlowJobs{MUSTER_REMOVE_THESE("flow_jobs", "seq")};
constexpr Sql kRemoveEdges{MUSTER_REMOVE_THESE("flow_edges", "upstream_seq")};
constexpr Sql kOfScopeOfFlow{
    MUSTER_SELECT_RESOURCE
    "WHERE r.scope = $1 AND r.scope <> '' AND r.state IN ('uploading', 'active', 'stale', "
    "'evicting') AND r.state <> 'evicting' ORDER BY r.resource_seq LIMIT $2"};
constexpr Sql kRemoveFlow{"DELETE FROM flows WHERE flow_seq = $1"};

constexpr Sql kOverdue{
    "SELECT flow_seq FROM flows WHERE deadline_at IS NOT NULL AND deadline_at <= $1 "
    "AND cause = '' ORDER BY deadline_at LIMIT $2"};
constexpr Sql kOldFlows{
    "SELECT flow_seq FROM flows WHERE ended_at IS NOT NULL AND ended_at < $1 AND todo = 0 "
    "ORDER BY ended_at LIMIT $2"};

std::vector<std::int64_t> readNumbers(SqlCursor rows) {
  std::vector<std::int64_t> numbers;
  while (rows.next()) numbers.push_back(rows->integer(0));
  return numbers;
}

}  // namespace

void FlowEnding::beginCancel(FlowRow& row, std::string_view cause, const std::string& reason) {
  s_.db.post(kBeginCancel, row.seq, cause, reason);
  row = *FlowRows(s_).at(row.seq);
  FlowRows(s_).leaveUnsettled();
}

int FlowEnding::cancelSome(FlowRow& row, int most) {
  auto rows = Jobs::readAll(s_.db.query(kNextJobs, row.seq, row.todo_after, most));
  const std::string reason(reasonOfJobs(row.cause));
  std::vector<std::int64_t> waiting, claimed;
  for (JobRow& job : rows) {
    if (isWaiting(job.job.status)) {
      waiting.push_back(job.seq);
    } else if (job.job.status == JobStatus::kClaimed && !job.job.cancel_requested) {
      claimed.push_back(job.seq);
    }
  }
  if (!waiting.empty()) {
    s_.db.post(kCancelTheseWaiting, numberList(waiting), s_.now, reason);
    for (JobRow& job : rows) {
      if (!isWaiting(job.job.status)) continue;
      s_.countMove(job, job.job.status, JobStatus::kCancelled);
      job.job.status = JobStatus::kCancelled;
      Jobs(s_).emit(event_type::kJobCancelled, job,
                    JsonWriter().beginObject().field("reason", reason).endObject().take());
    }
    FlowSettling(s_).settleEnded();
  }
  if (!claimed.empty()) s_.db.post(kAskTheseToStop, numberList(claimed), reason);
  if (rows.size() == static_cast<std::size_t>(most)) {
    s_.db.post(kCancelledTo, row.seq, rows.back().seq);
    FlowRows(s_).leaveUnsettled();
  } else {
    s_.db.execute(kAllCancelled, row.seq);
  }
  row = *FlowRows(s_).at(row.seq);
  if (row.todo == FlowTodo::kEnd) end(row);
  return static_cast<int>(rows.size());
}

void FlowEnding::end(FlowRow& row) {
  const FlowEnd end = howItEnds(row.cause, row.top, row.flow.reason);
  s_.db.post(kEndFlow, row.seq, name(end.status), end.reason, s_.now);
  row = *FlowRows(s_).at(row.seq);
  pushCallbacks(row);
  FlowRows(s_).emit(endEvent(end.status), row, s_.now - row.flow.began_at);
}

void FlowEnding::pushCallbacks(const FlowRow& row) {
  if (row.flow.callbacks.empty()) return;
  const auto text = JsonDoc::parse(row.flow.callbacks);
  if (!text) return;  // it was read when the flow was created
  std::vector<FieldError> faults;
  for (const FlowCallback& callback : readFlowCallbacks(text->root(), "", faults)) {
    if (!firesCallback(callback.when, row.flow.status)) continue;
    // Its pool was there when the flow was created; one that was deleted since comes back.
    auto pool = Pools(s_).findOrCreate(callback.pool);
    if (!pool) {
      auto saved = Pools(s_).put(callback.pool, {});
      if (!saved) continue;
      pool = saved->pool;
    }
    ResourceRefs refs(s_);
    auto found = refs.resolve(**pool, callback.job, callback.job.tenant, "");
    const bool keeps = found && ResourceRefs::keepsAny(*found);
    const auto pushed = Jobs(s_).push(
        **pool, callback.job, job_link::kIsCallback | (keeps ? job_link::kHasRefs : 0),
        found ? Pins::refsOf(callback.job, *found, "") : std::vector<PinRef>());
    if (!pushed.created) continue;
    if (keeps) {
      refs.add(pushed.seq, *found);
      refs.settle();
    }
    if (!found) {  // there is nobody to be told but the job itself
      const Error& error = found.error();
      auto made = Jobs(s_).load(pushed.job.id, false);
      Jobs(s_).poisonWaiting(*made, error.fields.empty()
                                        ? describe(error.code).name
                                        : std::string_view(error.fields.front().code));
    }
    JobFlow told;
    told.id = row.flow.id;
    told.flow_name = row.flow.name;
    told.round = row.flow.round;
    told.callback = callback.when;
    told.flow_status = name(row.flow.status);
    s_.db.post(kKeepCallback, pushed.seq, writeCallbackFlow(told));
  }
}

void FlowEnding::beginRemove(FlowRow& row) {
  s_.db.post(kBeginRemove, row.seq);
  row.todo = FlowTodo::kRemove;
  FlowRows(s_).emit(event_type::kFlowDeleted, row);
  FlowRows(s_).leaveUnsettled();
}

int FlowEnding::removeSome(FlowRow& row, int most) {
  const auto seqs = readNumbers(s_.db.query(kNextOfFlow, row.seq, most));
  const std::string list = numberList(seqs);
  if (!seqs.empty()) {
    bool has_callbacks = false, has_pins = false;
    for (const JobRow& job : Jobs::readAll(s_.db.query(kJobsOfThese, list))) {
      s_.countGone(job, job.job.status);
      has_callbacks = has_callbacks || (job.links & job_link::kIsCallback) != 0;
      has_pins = has_pins || (job.links & job_link::kHasPin) != 0;
    }
    if (has_pins) s_.db.post(kRemovePins, list);
    if (has_callbacks) s_.db.post(kRemoveCallbacks, list);  // that added children
    s_.ended.clear();                                       // nothing waits for them
    for (const Sql& statement : {kRemoveJobs, kRemovePayloads, kRemoveResults, kRemoveAttempts,
                                 kRemoveEdges, kRemoveFlowJobs}) {
      s_.db.post(statement, list);
    }
  }
  const int left = most - static_cast<int>(seqs.size());
  if (left <= 0) return most;
  ResourceRefs(s_).settle();
  const int released = releaseScope(row, left);
  if (released < left) s_.db.post(kRemoveFlow, row.seq);
  return most - left + released;
}

// What is used goes with its last user.
int FlowEnding::releaseScope(const FlowRow& row, int most) {
  std::vector<ResourceRow> found;
  {
    auto rows = s_.db.query(kOfScopeOfFlow, "flow:" + row.flow.id.str(), most);
    while (rows.next()) found.push_back(ResourceRows::read(*rows));
  }
  for (ResourceRow& each : found) ResourceRows(s_).evict(each, resource_reason::kScopeReleased);
  return static_cast<int>(found.size());
}

std::int64_t FlowEnding::endOverdue(int limit) {
  const auto flows = readNumbers(s_.db.query(kOverdue, s_.now, limit));
  for (const std::int64_t seq : flows) {
    auto row = *FlowRows(s_).at(seq);
    // All that it waited for has ended: it does so by itself.
    if (row.todo == FlowTodo::kEnd) {
      end(row);
    } else {
      beginCancel(row, flow_cause::kDeadline, "deadline");
    }
  }
  return static_cast<std::int64_t>(flows.size());
}

std::int64_t FlowEnding::removeOld(Time before, int limit) {
  const auto flows = readNumbers(s_.db.query(kOldFlows, before, limit));
  for (const std::int64_t seq : flows) {
    auto row = *FlowRows(s_).at(seq);
    beginRemove(row);
  }
  return static_cast<std::int64_t>(flows.size());
}

}  // namespace muster

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "models/operations/flows.h"
#include "models/policy/flow_end.h"
#include "models/store/sql/flow_adding.h"
#include "models/store/sql/flow_ending.h"
#include "models/store/sql/flow_retrying.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/flow_settling.h"
#include "models/store/sql/job_sql.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr int kCancelledAtOnce = 10'000;
constexpr int kRemovedAtOnce = 10'000;
constexpr int kCancelledTogether = 1000;

constexpr Sql kCloseFlow{
    "UPDATE flows SET closed = 1, version = version + 1, "
    "todo = CASE WHEN todo = 0 AND top_open = 0 THEN 1 ELSE todo END WHERE flow_seq = $1"};

// The verdicts of what has ended in this transaction are told before anything is built on them.
FlowRows settled(Store& store) {
  store.settleEnded();
  return FlowRows(store.session);
}

tl::unexpected<Error> takesNoJobs(const FlowRow& row) {
  return fail(ErrorCode::kFlowClosed,
              "the flow takes no more jobs: it is " + (row.flow.status == FlowStatus::kRunning
                                                           ? std::string("closed")
                                                           : std::string(name(row.flow.status))));
}

// All that it waited for has ended: the flow does so now, not when it is its turn.
void endIfOver(Store& store, FlowRow& row) {
  if (row.todo == FlowTodo::kEnd) FlowEnding(store.session).end(row);
}

Status checkChildPools(Store& store, const PoolId& id, std::span<const NewFlowJob> jobs) {
  const auto pool = store.pools().find(id);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (pool ? mayAddChildren(*pool, jobs[i].pool) : jobs[i].pool == id) continue;
    return fail(ErrorCode::kForbidden,
                fmt::format("/jobs/{}/pool_id: child_pools of pool '{}' does not name '{}'", i,
                            id.str(), jobs[i].pool.str()));
  }
  return {};
}

}  // namespace

Result<FlowJobsAdded> run(const CreateFlow& op, Store& store) {
  store.settleEnded();
  if (op.jobs.empty() && !op.open) {
    return tl::unexpected(Error{ErrorCode::kInvalid,
                                "the flow cannot be created",
                                {{"/jobs", "required", "a flow without jobs must be open"}}});
  }
  FlowRow row;
  Flow& flow = row.flow;
  flow.name = op.name;
  flow.tenant = op.tenant;
  flow.priority = op.priority;
  flow.closed = !op.open;
  flow.fail_fast = op.fail_fast;
  flow.deadline_at = op.deadline ? std::optional(store.now() + *op.deadline) : op.deadline_at;
  flow.callbacks = op.callbacks;
  flow.metadata = op.metadata;
  const FlowAdding::Level top{0, 1, op.tenant, op.priority, false};
  FlowAdding adding(store.session);
  auto plan = adding.plan(row, top, op.jobs, op.callback_pools);
  if (!plan) return tl::unexpected(std::move(plan).error());
  adding.create(row);
  return adding.write(row, top, *std::move(plan), op.traceparent);
}

Result<FlowJobsAdded> run(const AddFlowJobs& op, Store& store) {
  auto row = settled(store).find(op.flow);
  if (!row) return noFlow(op.flow);
  if (row->flow.closed || !row->cause.empty()) return takesNoJobs(*row);
  const FlowAdding::Level top{0, 1, row->flow.tenant, row->flow.priority, false};
  FlowAdding adding(store.session);
  auto plan = adding.plan(*row, top, op.jobs);
  if (!plan) return tl::unexpected(std::move(plan).error());
  return adding.write(*row, top, *std::move(plan), op.traceparent);
}

Result<FlowJobsAdded> run(const AddChildren& op, Store& store) {
  FlowRows flows = settled(store);
  const auto parent = store.jobs().hold(op.parent, false);
  if (!parent) return tl::unexpected(noJob(op.parent));
  const Reporter by{op.lease_token, ""};
  if (op.lease_token.empty() || !Jobs::holds(*parent, by)) {
    return tl::unexpected(store.jobs().refuse(*parent, by));
  }
  if (op.by_worker) {
    if (auto ok = checkChildPools(store, parent->job.pool, op.jobs); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  const bool is_in_flow = (parent->links & job_link::kInFlow) != 0;
  FlowRow row;
  if (is_in_flow) {
    row = flows.ofJob(parent->seq).value();
    if (!row.cause.empty()) return takesNoJobs(row);
  } else {
    row.flow.closed = true;
    row.flow.tenant = parent->job.tenant;
    row.flow.priority = parent->job.priority;
    row.flow.counts.total = 1;
  }
  FlowAdding adding(store.session);
  const FlowAdding::Level level{parent->seq, adding.depthOf(parent->seq) + 1, parent->job.tenant,
                                parent->job.priority,
                                (parent->links & job_link::kHasChildren) != 0};
  auto plan = adding.plan(row, level, op.jobs);
  if (!plan) return tl::unexpected(std::move(plan).error());
  if (!is_in_flow) {
    row.flow.counts = {};
    adding.create(row);
    adding.adopt(row, *parent);
  }
  return adding.write(row, level, *std::move(plan), op.traceparent);
}

Result<Flow> run(const CloseFlow& op, Store& store) {
  auto row = settled(store).find(op.flow);
  if (!row) return noFlow(op.flow);
  if (row->flow.closed) return row->flow;
  store.session.db.post(kCloseFlow, row->seq);
  row = FlowRows(store.session).at(row->seq);
  FlowRows(store.session).emit(event_type::kFlowClosed, *row);
  endIfOver(store, *row);
  return row->flow;
}

std::optional<std::vector<std::string>> poolsOfFlow(const FlowId& flow, Store& store) {
  const auto row = FlowRows(store.session).find(flow);
  if (!row) return std::nullopt;
  return row->poolList();
}

Result<Flow> run(const CancelFlow& op, Store& store) {
  auto row = settled(store).find(op.flow);
  if (!row) return noFlow(op.flow);
  endIfOver(store, *row);
  if (isEnded(row->flow.status)) {
    return fail(ErrorCode::kAlreadyFinished,
                "the flow has ended: it is " + std::string(name(row->flow.status)));
  }
  if (!row->cause.empty()) return row->flow;  // it is on its way
  FlowEnding ending(store.session);
  ending.beginCancel(*row, flow_cause::kRequest, op.reason.empty() ? "requested" : op.reason);
  for (int left = kCancelledAtOnce; row->todo == FlowTodo::kCancel && left > 0;) {
    left -= std::max(1, ending.cancelSome(*row, kCancelledTogether));
  }
  return row->flow;
}

Result<RetryFlow::Reply> run(const RetryFlow& op, Store& store) {
  auto row = settled(store).find(op.flow);
  if (!row) return noFlow(op.flow);
  if (!isEnded(row->flow.status)) {
    return fail(ErrorCode::kFlowRunning, "the flow is " + std::string(name(row->flow.status)) +
                                             "; it can be retried when " + "it has ended");
  }
  if (row->flow.status == FlowStatus::kSucceeded) {
    return fail(ErrorCode::kNotRetryable, "the flow has succeeded");
  }
  std::optional<std::vector<std::int64_t>> chosen;
  if (op.jobs) {
    chosen.emplace();
    std::vector<FieldError> faults;
    for (std::size_t i = 0; i < op.jobs->size(); ++i) {
      const auto job = store.jobs().load((*op.jobs)[i], false);
      const auto flow = job ? FlowRows(store.session).ofJob(job->seq) : std::nullopt;
      if (flow && flow->seq == row->seq) {
        chosen->push_back(job->seq);
      } else {
        faults.push_back({"/jobs/" + std::to_string(i), "unknown",
                          "the flow has no job '" + (*op.jobs)[i].str() + "'"});
      }
    }
    if (!faults.empty()) {
      return tl::unexpected(
          Error{ErrorCode::kInvalid, "the flow cannot be retried so", std::move(faults)});
    }
  }
  auto count = FlowRetrying(store.session).retry(*row, chosen, op.deadline);
  if (!count) return tl::unexpected(std::move(count).error());
  return RetryFlow::Reply{row->flow, *count};
}

Status run(const DeleteFlow& op, Store& store) {
  auto row = settled(store).find(op.flow);
  if (!row) return noFlow(op.flow);
  endIfOver(store, *row);
  if (!isEnded(row->flow.status)) {
    return fail(ErrorCode::kFlowRunning, "the flow is " + std::string(name(row->flow.status)) +
                                             "; cancel it, and delete it when it has ended");
  }
  FlowEnding ending(store.session);
  ending.beginRemove(*row);
  ending.removeSome(*row, kRemovedAtOnce);
  return {};
}

Result<SettleFlows::Reply> run(const SettleFlows& op, Store& store) {
  return FlowSettling(store.session).step(op.most);
}

Result<bool> run(const HasUnsettledFlows&, Store& store) {
  return FlowSettling(store.session).hasUnsettled();
}

Result<std::int64_t> run(const EndOverdueFlows& op, Store& store) {
  store.settleEnded();
  return FlowEnding(store.session).endOverdue(op.limit);
}

Result<std::int64_t> run(const RemoveOldFlows& op, Store& store) {
  store.settleEnded();
  return FlowEnding(store.session).removeOld(op.before, op.limit);
}

}  // namespace muster

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "models/operations/flows.h"
#include "models/policy/flow_end.h"
#include "models/store/sql/flow_adding.h"
#include "models/store/sql/flow_ending.h"
#include "models/store/sql/flow_retrying.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/flow_settling.h"
#include "models/store/sql/flow_upstream.h"
#include "models/store/sql/job_sql.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr int kCancelledAtOnce = 10'000;
constexpr int kRemovedAtOnce = 10'000;
constexpr int kMostFailedShown = 10;

constexpr Sql kCloseFlow{
    "UPDATE flows SET closed = 1, version = version + 1, "
    "todo = CASE WHEN todo = 0 AND top_open = 0 THEN 1 ELSE todo END WHERE flow_seq = $1"};

tl::unexpected<Error> noFlow(const FlowId& id) {
  return fail(ErrorCode::kNotFound, "there is no flow '" + id.str() + "'");
}

// The verdicts of what has ended in this transaction are told before anything is built on them.
FlowRows settled(Store& store) {
  FlowSettling(store.session).settleEnded();
  return FlowRows(store.session);
}

tl::unexpected<Error> takesNoJobs(const FlowRow& row) {
  return fail(ErrorCode::kFlowClosed,
              "the flow is " + std::string(name(row.flow.status)) +
                  (row.flow.status == FlowStatus::kRunning ? " and closed" : ""));
}

// What is already too late to be cancelled by then is ended here.
void endIfOver(Store& store, FlowRow& row) {
  if (row.todo == FlowTodo::kEnd) FlowEnding(store.session).end(row);
}

}  // namespace

Result<FlowJobsAdded> run(const CreateFlow& op, Store& store) {
  FlowRows flows = settled(store);
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
  FlowAdding adding(store.session);
  if (auto ok = adding.check(row, {}, op.jobs, op.callback_pools); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  adding.create(row);
  const FlowAdding::Level top{0, 1, op.tenant, op.priority, false};
  return adding.add(row, top, op.jobs, op.traceparent);
}

}  // namespace muster

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/flow.h"
#include "models/policy/grants.h"
#include "models/result.h"

namespace muster {

class Store;

// A job that a request named, in the order of the request.
struct FlowJobAdded {
  std::string name;
  JobId id;
  JobStatus status = JobStatus::kPending;
};
struct FlowJobsAdded {
  Flow flow;
  std::vector<FlowJobAdded> jobs;
  bool added = true;  // false: all of them were there before
};

// A flow with its first jobs; all or nothing. kInvalid (cycle, unknown_dependency, duplicate_name,
// too_many_jobs, too_many_edges, range of expires_at), kUniqueKeyTaken, and what a new pool may be
// refused for. `deadline` counts from now.
struct CreateFlow {
  std::string name = {}, tenant = {};
  std::optional<int> priority = {};
  std::vector<NewFlowJob> jobs = {};
  bool open = false;
  bool fail_fast = false;
  std::optional<Millis> deadline = {};
  std::optional<Time> deadline_at = {};
  std::string callbacks = {};  // JSON array, empty: none
  std::vector<PoolId> callback_pools = {};
  std::string metadata = {};  // JSON object, empty: none
  std::string traceparent = {};
  using Reply = FlowJobsAdded;
};
Result<FlowJobsAdded> run(const CreateFlow& op, Store& store);

// Adds to the top level of an open flow. kNotFound, kFlowClosed, kNameTaken, and as above.
struct AddFlowJobs {
  FlowId flow;
  std::vector<NewFlowJob> jobs = {};
  std::string traceparent = {};
  using Reply = FlowJobsAdded;
};
Result<FlowJobsAdded> run(const AddFlowJobs& op, Store& store);

// Adds children of a job whose lease is held. A job without a flow gets one: closed, with the job
// under its own id as name. kNotFound, kLeaseLost, kForbidden (a worker may add only to the
// child_pools of the job's pool), kFlowClosed (the flow is ending), kInvalid (too_deep), and as
// above.
struct AddChildren {
  JobId parent;
  std::string lease_token = {};
  bool by_worker = false;  // with a worker's own token
  std::vector<NewFlowJob> jobs = {};
  std::string traceparent = {};
  using Reply = FlowJobsAdded;
};
Result<FlowJobsAdded> run(const AddChildren& op, Store& store);

// No jobs can be added any more, but children. kNotFound.
struct CloseFlow {
  FlowId flow;
  using Reply = Flow;
};
Result<Flow> run(const CloseFlow& op, Store& store);

struct FailedFlowJob {
  std::string name;
  JobId id;
  std::string reason;
  std::string error;
};
struct FlowShown {
  Flow flow;
  std::vector<FailedFlowJob> failed_jobs;  // the first ten that are poisoned
};
struct FindFlow {
  FlowId flow;
  using Reply = FlowShown;
};
Result<FlowShown> run(const FindFlow& op, Store& store);

// The pools of the jobs of a flow; absent: there is no such flow.
std::optional<std::vector<std::string>> poolsOfFlow(const FlowId& flow, Store& store);

// Newest first. Empty filters match all.
struct ListFlows {
  std::optional<FlowStatus> status = {};
  std::string name = {};
  std::string tenant = {};
  std::string cursor = {};
  int limit = 50;
  // Only flows whose pools these grants let read; absent: all.
  std::optional<Grants> readable = {};
  struct Reply {
    std::vector<Flow> flows;
    std::string next_cursor;  // empty: that was the last page
  };
};
Result<ListFlows::Reply> run(const ListFlows& op, Store& store);

// In the order of creation. kNotFound.
struct ListFlowJobs {
  FlowId flow;
  std::optional<JobStatus> status = {};
  std::string parent = {};  // id of a job; empty: the jobs of all levels
  std::string cursor = {};
  int limit = 50;
  struct Reply {
    std::vector<Job> jobs;
    std::string next_cursor;
  };
};
Result<ListFlowJobs::Reply> run(const ListFlowJobs& op, Store& store);

// In the order of downstream jobs. kNotFound.
struct ListFlowEdges {
  FlowId flow;
  std::string cursor = {};
  int limit = 50;
  struct Reply {
    std::vector<FlowEdge> edges;
    std::string next_cursor;
  };
};
Result<ListFlowEdges::Reply> run(const ListFlowEdges& op, Store& store);

// The upstream jobs of a job, each followed by its direct children; none for a job without edges.
// kNotFound.
struct ListUpstream {
  JobId job;
  std::string cursor = {};
  int limit = 50;
  struct Reply {
    std::vector<UpstreamItem> items;
    std::string next_cursor;
  };
};
Result<ListUpstream::Reply> run(const ListUpstream& op, Store& store);

// kNotFound, kAlreadyFinished.
struct CancelFlow {
  FlowId flow;
  std::string reason = {};  // empty: "requested"
  using Reply = Flow;
};
Result<Flow> run(const CancelFlow& op, Store& store);

// kNotFound, kFlowRunning, kNotRetryable, kUniqueKeyTaken. `jobs`: only these, and what is
// downstream of them; kInvalid when one is not in the flow.
struct RetryFlow {
  FlowId flow;
  std::optional<std::vector<JobId>> jobs = {};
  std::optional<Millis> deadline = {};
  struct Reply {
    Flow flow;
    std::int64_t count = 0;  // jobs that are put back
  };
};
Result<RetryFlow::Reply> run(const RetryFlow& op, Store& store);

// kNotFound, kFlowRunning.
struct DeleteFlow {
  FlowId flow;
};
Status run(const DeleteFlow& op, Store& store);

// A piece of what ended jobs have left to settle: verdicts and edges to be told, flows that end,
// are cancelled, retried or removed. Exclusive.
struct SettleFlows {
  int most = 400;  // edges and jobs
  struct Reply {
    std::int64_t settled = 0;
    bool more = false;
  };
};
Result<SettleFlows::Reply> run(const SettleFlows& op, Store& store);

// Whether there is something to settle.
struct HasUnsettledFlows {
  using Reply = bool;
};
Result<bool> run(const HasUnsettledFlows& op, Store& store);

// Flows whose deadline is over are cancelled; how many.
struct EndOverdueFlows {
  int limit = 100;
  using Reply = std::int64_t;
};
Result<std::int64_t> run(const EndOverdueFlows& op, Store& store);

// Flows that ended before are removed, with their jobs; how many.
struct RemoveOldFlows {
  Time before;
  int limit = 100;
  using Reply = std::int64_t;
};
Result<std::int64_t> run(const RemoveOldFlows& op, Store& store);

// For the metrics.
struct CountFlows {
  struct Reply {
    std::vector<std::pair<std::string, std::int64_t>> by_status;
    std::int64_t unsettled = 0;
  };
};
Result<CountFlows::Reply> run(const CountFlows& op, Store& store);

}  // namespace muster

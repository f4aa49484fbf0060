#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "models/operations/flows.h"
#include "models/policy/flow_retry.h"
#include "models/policy/ref_rules.h"
#include "models/policy/verdict.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/session.h"

namespace muster {

constexpr int kMostSettled = 1000;  // edges in one commit

// Tells the verdicts of jobs that ended to all that waits for them. One step of it belongs to the
// transaction in which the jobs end: counters of downstream jobs go down, jobs that wait for
// nothing any more become pending, jobs that cannot run any more are cancelled, and the levels and
// flows of the jobs count them. What follows from that (the verdict of a job that was cancelled so,
// of a parent whose last child has one, the end of a flow) and what is too much for one commit is
// marked, and done by step().
//
// Rows are locked in the order: jobs that are cancelled, flow_jobs, jobs that are unblocked, flows,
// and then resources (ResourceRefs::settle); each by their numbers. Units that change flows in any
// other way run alone.
class FlowSettling {
 public:
  explicit FlowSettling(Session& session) : s_(session) {}

  // Of the jobs that have ended in this transaction. Four statements for any number of them, and
  // one more if jobs are cancelled.
  void settleEnded();

  // Some of what is marked; only in a unit that runs alone.
  SettleFlows::Reply step(int most);
  bool hasUnsettled();

 private:
  // A job whose row in flow_jobs is looked at.
  struct Looked {
    std::int64_t seq, flow, parent;
    bool may_fail;
    EndedAs ended_as;
    LevelCounts children;
    std::int64_t told_to;
    FlowJobTodo todo;
    bool cancelling;  // the flow
    bool fail_fast;
    bool retrying;
    std::optional<JobStatus> status;  // absent: the job is gone
  };
  struct Edge {
    std::int64_t upstream, downstream;
    EdgeCondition condition;
  };
  struct Looks {
    std::vector<Looked> jobs;  // by their numbers
    std::vector<Edge> edges;   // by upstream, then downstream numbers
    // Edges from this job on may have been left out; absent: all are there.
    std::optional<std::int64_t> cut_at;
    std::size_t most_of_one = 0;  // so many edges of a job: there may be more
  };
  struct Wanted {
    std::int64_t seq, told_to;
    bool edges;
  };
  Looks look(std::span<const Wanted> wanted, int most);

  // What changes, gathered from all the jobs.
  struct JobChange {
    std::int64_t met = 0, open = 0, failed = 0, cancelled = 0;
    EndedAs ended_as = EndedAs::kItself;   // if it is another
    std::optional<FlowJobTodo> todo = {};  // if it changes
    std::optional<std::int64_t> told_to = {};
  };
  struct FlowChange {
    std::int64_t blocked = 0, done = 0, poisoned = 0, cancelled = 0;
    LevelCounts top;  // are taken from the open ones, added to the others
    bool fail_fast = false;
  };
  struct Cancelled {
    std::int64_t flow;
    EndedAs ended_as;
  };
  struct Changes {
    std::map<std::int64_t, JobChange> jobs;
    std::map<std::int64_t, FlowChange> flows;
    std::map<std::int64_t, Cancelled> cancelled;   // downstream jobs
    std::map<std::int64_t, std::int64_t> flow_of;  // downstream jobs that may be unblocked
    std::map<std::int64_t, std::vector<InputRefs::Ref>> inputs;  // of those that were
  };
  static void count(FlowChange& flow, JobStatus from, JobStatus to);
  // The verdict of the job goes to its level, and along its edges; how many of them.
  int tell(const Looked& job, const Looks& looks, JobStatus status, int most, Changes& changes);
  void write(Changes& changes);
  void cancelDownstream(Changes& changes);
  // Also unblocks the jobs that wait for nothing any more; whether some are marked now.
  bool changeJobs(Changes& changes);
  void renumberGone(std::span<const std::int64_t> jobs);

  // Of jobs that are marked so; how much was done.
  int tellMarked(FlowJobTodo todo, int most);

  Session& s_;
};

}  // namespace muster

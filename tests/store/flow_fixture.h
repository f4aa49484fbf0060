#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/operations/flows.h"
#include "tests/store/store_fixture.h"

namespace muster::test {

// The jobs of a line like
//   "fetch; left after fetch; merge after left right; alarm failure merge; tidy any merge; x? @q"
// in the pool `p` unless @ names another; with ? a job may fail.
std::vector<NewFlowJob> flowJobs(const std::string& line);

// Flows whose jobs the test calls by their names, a child `x` of `a` as "a/x". After every test all
// is settled, and the counters of the flows must equal a recount.
class FlowTest : public StoreTest {
 protected:
  void TearDown() override;

  // Each is one unit of work. The last flow that was made is meant where none is named.
  FlowJobsAdded start(const std::string& line, CreateFlow options = {});
  FlowJobsAdded start(CreateFlow flow);
  Result<FlowJobsAdded> tryStart(const CreateFlow& flow);
  Result<FlowJobsAdded> add(const std::string& line);
  Result<FlowJobsAdded> add(std::vector<NewFlowJob> jobs);
  // By the holder of the parent's lease, which is taken if nobody has it.
  Result<FlowJobsAdded> addChildren(const std::string& parent, const std::string& line);
  Result<FlowJobsAdded> addChildren(const std::string& parent, AddChildren op);
  Result<Flow> close();
  Result<Flow> cancelFlow(const std::string& reason = "");
  Result<RetryFlow::Reply> retryFlow(std::optional<Names> jobs = {},
                                     std::optional<Millis> deadline = {});
  Status removeFlow();
  std::int64_t endOverdue();
  // Settles until nothing is left, in units of at most so much; how many units it took.
  int settle(int most = 1000);
  SettleFlows::Reply settleOnce(int most);
  bool unsettled();

  // What happens to a job. Those that end it take it first if nobody has it.
  Job take(const std::string& job, const std::string& worker = "w");
  void done(const std::string& job, std::optional<std::string> result = {});
  void poison(const std::string& job, const std::string& error = "boom");
  void stop(const std::string& job);      // as its worker does when it is asked to
  void giveBack(const std::string& job);  // unfinished
  void cancel(const std::string& job, const std::string& reason = "");
  Result<Job> retry(const std::string& job);
  // With all its jobs, as DELETE with ?force=true does it.
  void removePool(const std::string& pool);
  static void purgePool(Store& store, const std::string& pool);  // the same in a unit

  // As the job's worker has it.
  const Job& held(const std::string& job) { return held_.at(job); }
  JobId id(const std::string& job) const { return ids_.at(job); }
  Job find(const std::string& job) { return this->job(id(job)); }
  // "pending", "cancelled:not_needed", or "gone".
  std::string state(const std::string& job);
  // "a=done b=pending" of all jobs added to the last flow, in that order.
  std::string states();
  FlowShown shown();
  Flow flow() { return shown().flow; }
  // "running", "failed:job_failed".
  std::string flowState();
  // The ids of the pool `p` as workers would get them, as names.
  Names claimable();
  std::vector<Event> flowEvents(std::int64_t after = 0);
  std::int64_t count(const std::string& type, std::int64_t after = 0);
  void expectNoCounterFaults();
  std::string nameOf(const JobId& id) const;

  FlowId flow_;

 private:
  void remember(const std::string& prefix, const FlowJobsAdded& added);
  Job letGo(const std::string& job);

  std::map<std::string, JobId> ids_;
  Names added_;  // in this order
  std::map<std::string, Job> held_;
};

}  // namespace muster::test

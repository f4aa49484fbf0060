#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/operations/flows.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/sql/session.h"

namespace muster {

// Jobs are added to a level of a flow. All of it runs alone.
class FlowAdding {
 public:
  explicit FlowAdding(Session& session) : s_(session) {}

  // The level: the top level of the flow, or the children of a job.
  struct Level {
    std::int64_t parent = 0;  // 0: top level
    int depth = 1;
    std::string tenant;  // of jobs that name none
    std::optional<int> priority;
    bool parent_has_children = false;
  };
  struct Plan;
  // What adding the jobs comes to, and whether it can be; nothing is changed yet. `more_pools` are
  // made too if they are not there.
  Result<Plan> plan(const FlowRow& row, const Level& level, std::span<const NewFlowJob> jobs,
                    std::span<const PoolId> more_pools = {});
  // Does it, and updates the row.
  FlowJobsAdded write(FlowRow& row, const Level& level, Plan plan, const std::string& traceparent);

  // A new flow without jobs; `row` has what is asked for.
  void create(FlowRow& row);
  // The level of a job, from 1; of one without a flow it would be that.
  int depthOf(std::int64_t job);
  // The job becomes the only one of the flow's top level, under its own id as name.
  void adopt(FlowRow& row, const JobRow& job);

 private:
  // A job of the level that was there before.
  struct Known {
    std::int64_t seq;
    std::string id;  // empty: it is gone
    JobStatus status;
    EndedAs ended_as;
    LevelCounts children;
    bool untold;  // its verdict is not told yet, or not to all
    std::string body_hash;
  };
  using KnownJobs = std::unordered_map<std::string, Known>;
  KnownJobs knownJobs(const FlowRow& row, const Level& level, std::span<const NewFlowJob> jobs);

  struct Planned {
    NewFlowJob given;
    std::size_t place;  // in the request
    std::string body_hash;
    std::int64_t remaining = 0;
    EndedAs ended_as = EndedAs::kItself;
    JobRow row = {};
    std::vector<ResourceRefs::Found> refs = {};
  };
  std::vector<FieldError> faultsOf(const Level& level, std::span<const NewFlowJob> jobs);
  // Where jobs must or should run follows from what is found here, too.
  Status planRefs(Plan& plan, const Level& level);
  // The new jobs keep what they refer to, and those that wait for nothing find their inputs.
  void giveResources(FlowJobsAdded& reply, std::span<Planned> jobs);
  Status planPools(Plan& plan, std::span<const PoolId> more_pools);
  JobRow newRow(const Planned& planned, const Level& level, const Pool& pool,
                const std::string& traceparent);
  Status checkUniqueKeys(std::span<const Planned> planned);
  void insertPlaces(const FlowRow& row, const Level& level, std::span<const Planned> planned);
  void insertEdges(std::span<const Planned> planned, const KnownJobs& known);

  Session& s_;
};

struct FlowAdding::Plan {
  FlowJobsAdded reply;  // with the jobs that were there before
  std::vector<Planned> jobs;
  KnownJobs known;
  std::map<std::string, std::shared_ptr<const Pool>> pools;  // null: it is to be made
};

}  // namespace muster

#pragma once

#include <string>
#include <vector>

#include "models/operations/flows.h"
#include "models/store/storage.h"

namespace muster::test {

inline NewFlowJob flowJob(const std::string& name, const std::string& pool,
                          const std::vector<std::string>& after = {}) {
  NewFlowJob job;
  job.job.data = "1";
  job.name = name;
  job.pool = PoolId(pool);
  for (const std::string& from : after) {
    job.edges.push_back({from, EdgeCondition::kAfter, job.edges.size()});
  }
  return job;
}

// A flow with the job `root` in the pool `p`, and `width` jobs in `fan` that wait for it.
inline FlowId createFan(Storage& storage, int width) {
  constexpr int kInOneRequest = 1000;
  FlowId flow;
  const Status status = storage.writeAndWait([&](Store& store) {
    CreateFlow op;
    op.jobs = {flowJob("root", "p")};
    op.open = true;
    flow = run(op, store).value().flow.id;
    for (int made = 0; made < width;) {
      AddFlowJobs more{.flow = flow};
      for (; made < width && more.jobs.size() < kInOneRequest; ++made) {
        more.jobs.push_back(flowJob("j" + std::to_string(made), "fan", {"root"}));
      }
      run(more, store).value();
    }
    run(CloseFlow{flow}, store).value();
  });
  if (!status) throw std::runtime_error(status.error().detail);
  return flow;
}

// Claims the next job of the pool and completes it.
inline void completeNext(Storage& storage, const std::string& pool) {
  const Status status = storage.writeAndWait([&](Store& store) {
    const Job job = store.jobs().claim(*store.pools().find(PoolId(pool)), "w", {}, 1).at(0);
    store.jobs().complete(job.id, {job.lease_token, ""}, {}, "").value();
  });
  if (!status) throw std::runtime_error(status.error().detail);
}

}  // namespace muster::test

#pragma once

#include <string>
#include <vector>

#include "models/ids.h"
#include "models/job.h"
#include "models/result.h"

namespace muster {

class Store;

// Puts jobs into a pool, which is made if it is not there; all or nothing. A job whose unique_key a
// living job has is that job. kInvalid (range of expires_at; other_tenant, unknown_resource,
// duplicate_name of a ref), kResourceGone and kNotStored of what a job refers to, kBodyTooLarge
// (what the answer would show), and what a new pool may be refused for. Exclusive if a job may have
// refs (mayHaveRefs in job_json.h), else concurrent.
struct PushJobs {
  PoolId pool;
  std::vector<NewJob> jobs;
  bool is_batch = false;  // where faults point to: into /items, or into the request itself
  struct Pushed {
    Job job;
    bool created = true;
  };
  using Reply = std::vector<Pushed>;
};
Result<PushJobs::Reply> run(const PushJobs& op, Store& store);

}  // namespace muster

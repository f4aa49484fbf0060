#pragma once

#include "app/waits/wait_list.h"
#include "controllers/gateway.h"
#include "controllers/router.h"
#include "models/operations/jobs.h"

namespace muster {

// Push, list, look at and steer jobs.
class JobController {
 public:
  // `job_waits` is woken under a job's id when the job finishes.
  JobController(Gateway& gateway, RateLimits& limits, WaitList& job_waits, const Clock& clock)
      : gateway_(gateway), limits_(limits), waits_(job_waits), clock_(clock) {}
  void addRoutes(Router& router);

 private:
  void push(const RequestPtr& request, Respond respond);
  Result<PushJobs> readPush(const Request& request);
  void pushBatch(const RequestPtr& request, Respond respond);
  Result<PushJobs> readBatch(const Request& request);
  Result<Work> list(const Request& request);
  void get(const RequestPtr& request, Respond respond);
  Result<Work> attempts(const Request& request);
  Result<Work> cancel(const Request& request);
  Result<Work> retry(const Request& request);
  Result<Work> remove(const Request& request);

  Gateway& gateway_;
  RateLimits& limits_;
  WaitList& waits_;
  const Clock& clock_;
};

// The answer of every action on one job.
Outcome jobReply(Result<Job> job, int status = 200);

}  // namespace muster

#pragma once

#include <string>
#include <vector>

#include "app/waits/wait_list.h"
#include "controllers/gateway.h"
#include "controllers/router.h"
#include "models/operations/flows.h"

namespace muster {

// Create flows, add to them, look at them and steer them.
class FlowController {
 public:
  // `flow_waits` is woken under a flow's id when the flow ends.
  FlowController(Gateway& gateway, RateLimits& limits, WaitList& flow_waits, const Clock& clock)
      : gateway_(gateway), limits_(limits), waits_(flow_waits), clock_(clock) {}
  void addRoutes(Router& router);

 private:
  Result<Work> create(const Request& request);
  void addJobs(const RequestPtr& request, Respond respond);
  void addChildren(const RequestPtr& request, Respond respond);
  static Result<Work> close(const Request& request);
  static Result<Work> cancel(const Request& request);
  static Result<Work> retry(const Request& request);
  static Result<Work> remove(const Request& request);
  static Result<Work> list(const Request& request);
  void get(const RequestPtr& request, Respond respond);
  static Result<Work> listJobs(const Request& request);
  static Result<Work> listEdges(const Request& request);
  static Result<Work> upstream(const Request& request);

  // The tenant of jobs that name none, of what the store holds; empty: none.
  using TenantOf = std::function<std::string(Store&)>;
  // Adds jobs whose tenant may be inherited, within the rates of their tenants.
  template <class Op>
  void add(const RequestPtr& request, Op op, TenantOf inherited, Respond respond);

  Gateway& gateway_;
  RateLimits& limits_;
  WaitList& waits_;
  const Clock& clock_;
};

}  // namespace muster

#pragma once

#include "app/waits/wait_list.h"
#include "controllers/gateway.h"
#include "controllers/router.h"
#include "models/json/job_json.h"

namespace muster {

// What workers do with jobs: claim them, keep them, report on them.
class LeaseController {
 public:
  // `pool_waits` is woken under a pool's id when it may have work.
  LeaseController(Gateway& gateway, WaitList& pool_waits, const Clock& clock,
                  InlineRules inline_rules)
      : gateway_(gateway),
        waits_(pool_waits),
        clock_(clock),
        inline_rules_(std::move(inline_rules)) {}
  void addRoutes(Router& router);

 private:
  void claim(const RequestPtr& request, Respond respond);
  void reports(const RequestPtr& request, Respond respond);
  void complete(const RequestPtr& request, Respond respond);
  Result<Work> fail(const Request& request);
  Result<Work> renew(const Request& request);
  Result<Work> release(const Request& request);
  Result<Work> progress(const Request& request);

  // A claim, or reports and a claim, that may wait for work.
  struct Waiting;
  static Wish wishOf(const Waiting& waiting);
  static Isolation isolationOf(const std::vector<OutcomeReport>& reports);
  void run(const std::shared_ptr<Waiting>& waiting);

  Gateway& gateway_;
  WaitList& waits_;
  const Clock& clock_;
  const InlineRules inline_rules_;
};

}  // namespace muster

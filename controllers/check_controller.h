#pragma once

#include "app/scaling/checker.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

// The parallelization checker over HTTP: GET explains, POST does.
class CheckController {
 public:
  CheckController(Gateway& gateway, Checker& checker) : gateway_(gateway), checker_(checker) {}
  void addRoutes(Router& router);

 private:
  Result<Work> explain(const Request& request);
  void check(const RequestPtr& request, Respond respond);
  Result<Work> decisions(const Request& request);
  Result<Work> scale(const Request& request);
  Result<Work> setScale(const Request& request);

  Gateway& gateway_;
  Checker& checker_;
};

}  // namespace muster

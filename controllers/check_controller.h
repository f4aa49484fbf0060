#pragma once

#include "app/scaling/checker.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

// The parallelization checker over HTTP: GET explains, POST does.
class CheckController {
 public:
  // `defaults` are those of pools.
  CheckController(Gateway& gateway, Checker& checker, PoolSettings defaults)
      : gateway_(gateway), checker_(checker), defaults_(std::move(defaults)) {}
  void addRoutes(Router& router);

 private:
  Result<Work> explain(const Request& request);
  Result<Work> explainFigures(const Request& request);
  void check(const RequestPtr& request, Respond respond);
  Result<Work> decisions(const Request& request);
  Result<Work> scale(const Request& request);
  Result<Work> setScale(const Request& request);

  Gateway& gateway_;
  Checker& checker_;
  const PoolSettings defaults_;
};

}  // namespace muster

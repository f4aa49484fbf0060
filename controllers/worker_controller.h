#pragma once

#include "controllers/access.h"
#include "controllers/router.h"

namespace muster {

class WorkerController {
 public:
  explicit WorkerController(const Access& access) : access_(access) {}
  void addRoutes(Router& router);

 private:
  Result<Work> registerWorker(const Request& request);
  Result<Work> list(const Request& request);
  Result<Work> get(const Request& request);
  Result<Work> patch(const Request& request);
  Result<Work> remove(const Request& request);
  Result<Work> heartbeat(const Request& request);
  Result<Work> release(const Request& request);
  Result<Work> terminate(const Request& request);
  Result<Work> output(const Request& request);

  const Access& access_;
};

}  // namespace muster

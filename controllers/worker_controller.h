#pragma once

#include "app/launch/process_launcher.h"
#include "controllers/access.h"
#include "controllers/router.h"

namespace muster {

class WorkerController {
 public:
  WorkerController(const Access& access, ProcessLauncher& launcher, std::string host)
      : access_(access), launcher_(launcher), host_(std::move(host)) {}
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
  ProcessLauncher& launcher_;
  const std::string host_;
};

}  // namespace muster

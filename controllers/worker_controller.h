#pragma once

#include "app/launch/process_launcher.h"
#include "controllers/access.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

class WorkerController {
 public:
  WorkerController(Gateway& gateway, const Access& access, ProcessLauncher& launcher,
                   std::string host, const ResourceRules& resources)
      : gateway_(gateway),
        access_(access),
        launcher_(launcher),
        host_(std::move(host)),
        resources_(resources) {}
  void addRoutes(Router& router);

 private:
  Result<Work> registerWorker(const Request& request);
  Result<Work> list(const Request& request);
  Result<Work> get(const Request& request);
  Result<Work> patch(const Request& request);
  Result<Work> remove(const Request& request);
  void heartbeat(const RequestPtr& request, Respond respond);
  Result<Work> release(const Request& request);
  Result<Work> terminate(const Request& request);
  Result<Work> output(const Request& request);

  Gateway& gateway_;
  const Access& access_;
  ProcessLauncher& launcher_;
  const std::string host_;
  const ResourceRules resources_;
};

}  // namespace muster

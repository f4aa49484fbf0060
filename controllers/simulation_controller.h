#pragma once

#include "app/scaling/simulator.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

// What another policy would have made of a pool's load.
class SimulationController {
 public:
  explicit SimulationController(Simulator& simulator) : simulator_(simulator) {}
  void addRoutes(Router& router);

 private:
  void simulate(const RequestPtr& request, const Respond& respond);

  Simulator& simulator_;
};

}  // namespace muster

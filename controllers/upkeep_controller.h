#pragma once

#include <chrono>
#include <functional>

#include "app/upkeep/duties.h"
#include "controllers/router.h"

namespace muster {

// The periodic duties by hand: reap and tick. GET previews a reap without doing it.
class UpkeepController {
 public:
  // `on_tick` runs after the duties of POST /v1/tick, in their unit: what they found may call for
  // workers.
  UpkeepController(Retention retention, std::function<void(Store&)> on_tick)
      : retention_(retention), on_tick_(std::move(on_tick)) {}
  void addRoutes(Router& router);

 private:
  Result<Work> previewReap(const Request& request, bool one_pool);
  Result<Work> reap(const Request& request, bool one_pool);
  Result<Work> tick(const Request& request);

  Retention retention_;
  std::function<void(Store&)> on_tick_;
};

}  // namespace muster

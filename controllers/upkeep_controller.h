#pragma once

#include <chrono>

#include "controllers/router.h"

namespace muster {

// The periodic duties by hand: reap and tick. GET previews a reap without doing it.
class UpkeepController {
 public:
  explicit UpkeepController(std::chrono::hours retention) : retention_(retention) {}
  void addRoutes(Router& router);

 private:
  Result<Work> previewReap(const Request& request, bool one_pool);
  Result<Work> reap(const Request& request, bool one_pool);
  Result<Work> tick(const Request& request);

  std::chrono::hours retention_;
};

}  // namespace muster

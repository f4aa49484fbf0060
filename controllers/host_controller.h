#pragma once

#include "controllers/router.h"

namespace muster {

// The machines on which something is kept, and what is in their folders.
class HostController {
 public:
  static void addRoutes(Router& router);
};

}  // namespace muster

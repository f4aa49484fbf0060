#pragma once

#include "controllers/access.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

// Which tokens there are, what the caller's own allows, and who changed what with them.
class TokenController {
 public:
  TokenController(Gateway& gateway, Access& access) : gateway_(gateway), access_(access) {}
  void addRoutes(Router& router);

 private:
  Outcome list() const;
  static Outcome showOwn(const Request& request);
  void rotateWorkerTokens(const RequestPtr& request, Respond respond);
  static Result<Work> audit(const Request& request);

  Gateway& gateway_;
  Access& access_;
};

}  // namespace muster

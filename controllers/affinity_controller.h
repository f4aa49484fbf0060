#pragma once

#include "controllers/request.h"
#include "controllers/router.h"

namespace muster {

// Keys of jobs, and who has them: /v1/affinities.
class AffinityController {
 public:
  void addRoutes(Router& router);

 private:
  static Result<Work> list(const Request& request);
  static Result<Work> find(const Request& request);
  static Result<Work> put(const Request& request);
  static Result<Work> touch(const Request& request);
  static Result<Work> remove(const Request& request);
};

}  // namespace muster

#pragma once

#include "controllers/content_controller.h"
#include "controllers/router.h"
#include "controllers/uploads.h"

namespace muster {

// What jobs hand back beside their results.
class ArtifactController {
 public:
  ArtifactController(Gateway& gateway, Uploads& uploads, const ContentController& content)
      : gateway_(gateway), uploads_(uploads), content_(content) {}
  void addRoutes(Router& router);

 private:
  void put(const RequestPtr& request, const Respond& respond);
  static Result<Work> create(const Request& request);
  static Result<Work> list(const Request& request);
  void get(const RequestPtr& request, const Respond& respond);

  Gateway& gateway_;
  Uploads& uploads_;
  const ContentController& content_;
};

}  // namespace muster

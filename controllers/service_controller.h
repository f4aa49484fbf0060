#pragma once

#include "app/leadership/cluster_node.h"
#include "app/metrics/metrics.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

// The service about itself: health, metrics, version, its API description and documentation.
class ServiceController {
 public:
  struct Documents {
    std::string openapi_json;
    std::string docs_html;
  };
  ServiceController(Gateway& gateway, Storage& storage, Metrics& metrics, const ClusterNode& node,
                    Documents documents)
      : gateway_(gateway),
        storage_(storage),
        metrics_(metrics),
        node_(node),
        documents_(std::move(documents)) {}
  void addRoutes(Router& router);

 private:
  void ready(const RequestPtr& request, Respond respond);
  Result<Work> metrics(const Request& request);

  Gateway& gateway_;
  Storage& storage_;
  Metrics& metrics_;
  const ClusterNode& node_;
  const Documents documents_;
};

}  // namespace muster

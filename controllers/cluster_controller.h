#pragma once

#include "app/leadership/cluster_node.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

// The nodes that share the store, and who leads them.
class ClusterController {
 public:
  ClusterController(Gateway& gateway, ClusterNode& node) : gateway_(gateway), node_(node) {}
  void addRoutes(Router& router);

 private:
  Outcome show(Store& store) const;
  void resign(const RequestPtr& request, const Respond& respond);

  Gateway& gateway_;
  ClusterNode& node_;
};

}  // namespace muster

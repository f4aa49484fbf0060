#pragma once

#include "controllers/gateway.h"
#include "controllers/router.h"
#include "triggers/dispatch.h"
#include "triggers/trigger_registry.h"

namespace muster {

// Look at triggers, change those that are not configured, and fire them by hand.
class TriggerController {
 public:
  TriggerController(Gateway& gateway, TriggerRegistry& registry, Dispatch& dispatch)
      : gateway_(gateway), registry_(registry), dispatch_(dispatch) {}
  void addRoutes(Router& router);

 private:
  Result<Work> list(const Request& request);
  Result<Work> get(const Request& request);
  void put(const RequestPtr& request, Respond respond);
  void remove(const RequestPtr& request, Respond respond);
  void fire(const RequestPtr& request, Respond respond);

  void write(JsonWriter& out, Trigger trigger) const;
  // Runs the work, and lets the registry know what the triggers are after it.
  void change(const RequestPtr& request, Work work, Respond respond);

  Gateway& gateway_;
  TriggerRegistry& registry_;
  Dispatch& dispatch_;
};

}  // namespace muster

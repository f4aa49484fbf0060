#pragma once

#include <functional>
#include <mutex>

#include "controllers/access.h"
#include "controllers/gateway.h"
#include "controllers/rate_limits.h"
#include "controllers/router.h"
#include "models/policy/token_bucket.h"
#include "triggers/dispatch.h"
#include "triggers/hook_payload.h"
#include "triggers/trigger_registry.h"

namespace muster {

// Takes webhooks. Who may call one is the trigger's business: signed hooks need no token.
class HookController {
 public:
  // Checks a pool and gives the decision as JSON, "" when there is no such pool.
  using Decide = std::function<void(const PoolId& pool, const std::string& trigger,
                                    const std::function<void(const std::string& decision)>& then)>;

  struct Parts {
    Gateway& gateway;
    Storage& storage;
    const Access& access;
    RateLimits& limits;
    TriggerRegistry& registry;
    Dispatch& dispatch;
    Metrics& metrics;
    VariableLookup variable;
    const Log& log;
    const Clock& clock;
    Decide decide;
  };
  explicit HookController(Parts parts) : parts_(std::move(parts)) {}
  void addRoutes(Router& router);

 private:
  struct Delivery;
  using DeliveryPtr = std::shared_ptr<Delivery>;

  void receive(const RequestPtr& request, Respond respond);
  void shakeHands(const RequestPtr& request, const Respond& respond) const;
  Result<ReadyTriggerPtr> hookOf(const Request& request) const;
  // On whose behalf it is; kUnauthorized, kForbidden.
  Result<Principal> admit(const Request& request, const TriggerSpec& spec);
  void noteRejected(const std::string& name, const std::string& why);
  static bool mustBeStored(const Delivery& delivery);
  // The pool of all its events; empty: they have several.
  static std::string onlyPool(const Delivery& delivery);
  void store(const DeliveryPtr& delivery, Respond respond);
  // In one unit: what is new becomes jobs, and the trigger has fired.
  static Status deliver(Store& store, Delivery& delivery);
  // The pool whose decision the sender waits for; empty: none.
  static PoolId awaitedPool(const Delivery& delivery);
  void start(const Delivery& delivery) const;
  void finish(const DeliveryPtr& delivery, const Respond& respond) const;

  const Parts parts_;
  std::mutex mutex_;
  TokenBucket rejections_{5};  // events of a second at most; guarded by mutex_
};

}  // namespace muster

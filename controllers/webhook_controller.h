#pragma once

#include "app/webhooks/webhook_outbox.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

// Who is told of events, and what has been told.
class WebhookController {
 public:
  WebhookController(Gateway& gateway, WebhookOutbox& outbox) : gateway_(gateway), outbox_(outbox) {}
  void addRoutes(Router& router);

 private:
  Result<Work> list(const Request& request);
  Result<Work> get(const Request& request);
  Result<Work> deliveries(const Request& request);
  Result<Work> create(const Request& request);
  Result<Work> patch(const Request& request);
  Result<Work> rotate(const Request& request);
  Result<Work> remove(const Request& request);
  Result<Work> resend(const Request& request);
  void test(const RequestPtr& request, const Respond& respond);

  Gateway& gateway_;
  WebhookOutbox& outbox_;
};

}  // namespace muster

#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/http/address_guard.h"
#include "models/clock.h"
#include "models/webhook.h"

namespace muster {

struct WebhookMessage {
  std::string id;
  std::string body;
  std::vector<std::string> secrets;  // each signs
};

// Makes one call and blocks until it is answered, it has taken too long, or it is asked to stop.
// Keeps its connection for the next one. Not thread-safe.
using WebhookPost =
    std::function<WebhookTry(const WebhookMessage& message, const std::stop_token& stop)>;
// To one receiver. Thread-safe.
using WebhookConnect = std::function<WebhookPost(const std::string& url)>;

// By the Standard Webhooks specification, over the network: signed, without redirects, and to the
// addresses the guard allows.
WebhookConnect callsOverNetwork(AddressGuard guard, Millis timeout, const Clock& clock);

}  // namespace muster

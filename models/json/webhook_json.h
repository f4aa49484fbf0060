#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/result.h"
#include "models/webhook.h"

namespace muster {

// Whether a text is a URL that can be called.
using UrlRule = std::function<bool(std::string_view)>;

// Each notes every fault; what could be read is in the answer.
struct NewWebhook {
  WebhookSpec spec;
  std::optional<std::string> secret;  // absent: one is made
};
NewWebhook readNewWebhook(JsonValue value, const UrlRule& is_url, std::vector<FieldError>& faults);
WebhookChange readWebhookChange(JsonValue value, const UrlRule& is_url,
                                std::vector<FieldError>& faults);
// {secret?}
std::optional<std::string> readRotation(JsonValue value, std::vector<FieldError>& faults);

// With its secret only where it was made just now.
void writeWebhook(JsonWriter& out, const Webhook& webhook, bool with_secret = false);
void writeDelivery(JsonWriter& out, const WebhookDelivery& delivery);
// What came of a call for a test.
void writeTry(JsonWriter& out, const WebhookTry& made, const std::string& delivery_id);

// What receivers are sent: type, timestamp and the event as GET /v1/events shows it.
std::string writeWebhookBody(const Event& event);
// The same for a call that only shows that it arrives.
std::string writeTestBody(const WebhookId& webhook, Time now);

}  // namespace muster

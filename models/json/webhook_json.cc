#include "models/json/webhook_json.h"

#include "models/base64.h"
#include "models/ids.h"
#include "models/json/event_json.h"
#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr std::size_t kMaxUrlBytes = 2048;
constexpr std::size_t kMaxTypes = 100;
constexpr std::size_t kMaxTypeBytes = 128;
constexpr std::size_t kMaxDescriptionBytes = 1024;
constexpr std::size_t kMaxSecretBytes = 128;
constexpr std::string_view kSecretPrefix = "whsec_";
constexpr std::size_t kLeastKeyBytes = 24, kMostKeyBytes = 64;
constexpr std::string_view kTestType = "webhook.test";

WebhookChange readFields(ObjectReader& in, const UrlRule& is_url, std::vector<FieldError>& faults) {
  WebhookChange change;
  change.url = in.text("url", 1, kMaxUrlBytes);
  if (change.url && !is_url(*change.url)) {
    in.fault("url", "format", "must be an http or https URL with a host and without a user");
  }
  change.types = in.texts("types", kMaxTypes, kMaxTypeBytes);
  for (std::size_t i = 0; change.types && i < change.types->size(); ++i) {
    if (isKnownTypePattern((*change.types)[i])) continue;
    addFault(faults, {in.pointer("types") + "/" + std::to_string(i), "choice",
                      "must be a type of event like job.completed, or job.* for all of jobs"});
  }
  change.pool = in.text("pool_id", 0, 128);
  if (change.pool && !change.pool->empty() && !isValidId(*change.pool)) {
    in.fault("pool_id", "format", "must be 1 to 128 of A-Z a-z 0-9 . _ ~ : -, or empty for all");
  }
  change.description = in.text("description", 0, kMaxDescriptionBytes);
  change.enabled = in.boolean("enabled");
  return change;
}

std::optional<std::string> readSecret(ObjectReader& in) {
  auto secret = in.text("secret", 1, kMaxSecretBytes);
  if (!secret) return std::nullopt;
  std::optional<std::string> key;
  if (secret->starts_with(kSecretPrefix)) {
    key = decodeBase64(std::string_view(*secret).substr(kSecretPrefix.size()));
  }
  if (!key || key->size() < kLeastKeyBytes || key->size() > kMostKeyBytes) {
    in.fault("secret", "format", "must be whsec_ and the base64 of 24 to 64 bytes");
  }
  return secret;
}

void text(JsonWriter& out, std::string_view name, const std::string& value) {
  if (!value.empty()) out.field(name, value);
}

}  // namespace

NewWebhook readNewWebhook(JsonValue value, const UrlRule& is_url, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  const WebhookChange given = readFields(in, is_url, faults);
  in.required("url", given.url);
  NewWebhook webhook{changed({}, given), readSecret(in)};
  in.finish();
  return webhook;
}

WebhookChange readWebhookChange(JsonValue value, const UrlRule& is_url,
                                std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  WebhookChange change = readFields(in, is_url, faults);
  in.finish();
  return change;
}

std::optional<std::string> readRotation(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  auto secret = readSecret(in);
  in.finish();
  return secret;
}

void writeWebhook(JsonWriter& out, const Webhook& webhook, bool with_secret) {
  const WebhookSpec& spec = webhook.spec;
  out.beginObject().field("id", webhook.id).field("url", spec.url).list("types", spec.types);
  text(out, "pool_id", spec.pool);
  text(out, "description", spec.description);
  out.field("enabled", spec.enabled).field("status", statusOf(webhook));
  text(out, "disabled_reason", webhook.disabled_reason);
  out.field("failing_since", webhook.failing_since);
  text(out, "last_error", webhook.last_error);
  out.field("last_delivered_at", webhook.last_delivered_at);
  out.field("pending_deliveries", webhook.pending);
  out.field("events_expired", webhook.events_expired);
  if (with_secret) out.field("secret", webhook.secret);
  out.field("old_secret_until", webhook.old_secret_until);
  out.field("version", webhook.version);
  out.field("created_at", webhook.created_at).field("updated_at", webhook.updated_at).endObject();
}

void writeDelivery(JsonWriter& out, const WebhookDelivery& delivery) {
  out.beginObject().field("id", delivery.id()).field("webhook_id", delivery.webhook);
  out.field("event_seq", delivery.event_seq).field("type", delivery.type);
  out.field("status", delivery.status).field("attempts", delivery.attempts);
  out.field("created_at", delivery.created_at);
  out.field("next_attempt_at", delivery.next_attempt_at);
  out.field("last_attempt_at", delivery.last_attempt_at);
  out.field("response_status", delivery.response_status);
  out.field("duration_ms", delivery.duration_ms);
  text(out, "response_body", delivery.response_body);
  text(out, "error", delivery.error);
  out.endObject();
}

void writeTry(JsonWriter& out, const WebhookTry& made, const std::string& delivery_id) {
  out.beginObject().field("id", delivery_id).field("delivered", made.delivered());
  out.field("response_status", made.status).field("duration_ms", made.took.count());
  text(out, "response_body", made.response_body);
  text(out, "error", made.error);
  out.endObject();
}

std::string writeWebhookBody(const Event& event) {
  JsonWriter out;
  out.beginObject().field("type", event.type).field("timestamp", event.at).key("data");
  writeEvent(out, event);
  out.endObject();
  return out.take();
}

std::string writeTestBody(const WebhookId& webhook, Time now) {
  JsonWriter out;
  out.beginObject().field("type", kTestType).field("timestamp", now).key("data");
  out.beginObject().field("webhook_id", webhook).endObject().endObject();
  return out.take();
}

}  // namespace muster

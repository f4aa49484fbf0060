#include "models/store/sql/webhooks.h"

#include <algorithm>
#include <limits>

#include "models/json/webhook_json.h"
#include "models/store/sql/events.h"
#include "models/store/standard_webhook.h"

namespace muster {
namespace {

#define MUSTER_WEBHOOK_COLUMNS                                                                  \
  "w.webhook_id, w.url, w.types, w.pool_id, w.description, w.enabled, w.disabled_reason, "      \
  "w.secret, w.old_secret, w.old_secret_until, w.version, w.created_at, w.updated_at, "         \
  "w.after_seq, w.events_expired, w.failing_since, w.last_delivered_at, w.last_error, "         \
  "(SELECT count(*) FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id AND d.next_at " \
  "IS NOT NULL)"

constexpr Sql kFindWebhook{"SELECT " MUSTER_WEBHOOK_COLUMNS
                           " FROM webhooks w WHERE w.webhook_id = $1"};
constexpr Sql kListWebhooks{
    "SELECT " MUSTER_WEBHOOK_COLUMNS
    " FROM webhooks w WHERE w.webhook_id > $1 ORDER BY w.webhook_id LIMIT $2"};
constexpr Sql kEventReaders{
    "SELECT " MUSTER_WEBHOOK_COLUMNS
    ", (SELECT min(d.next_at) FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id "
    "AND d.next_at IS NOT NULL), "
    "(SELECT min(d.next_at) FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id "
    "AND d.next_at > $1) FROM webhooks w WHERE w.enabled = 1 ORDER BY w.webhook_id"};
constexpr Sql kCountWebhooks{"SELECT count(*) FROM webhooks"};
constexpr Sql kInsertWebhook{
    "INSERT INTO webhooks (webhook_id, url, types, pool_id, description, enabled, secret, version, "
    "created_at, updated_at, after_seq, events_expired) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $8, $9, 0)"};
constexpr Sql kSaveWebhook{
    "UPDATE webhooks SET url = $2, types = $3, pool_id = $4, description = $5, enabled = $6, "
    "disabled_reason = $7, secret = $8, old_secret = $9, old_secret_until = $10, "
    "version = version + 1, updated_at = $11, failing_since = $12, last_error = $13 "
    "WHERE webhook_id = $1"};
constexpr Sql kRemove{"DELETE FROM webhooks WHERE webhook_id = $1"};
constexpr Sql kRemovePending{
    "DELETE FROM webhook_deliveries WHERE webhook_id = $1 AND next_at IS NOT NULL"};

constexpr Sql kAdvance{
    "UPDATE webhooks SET after_seq = $3, events_expired = events_expired + $4 "
    "WHERE webhook_id = $1 AND after_seq = $2 AND enabled = 1"};
constexpr Sql kAddDelivery{
    "INSERT INTO webhook_deliveries (webhook_id, event_seq, type, body, status, attempts, "
    "created_at, next_at) VALUES ($1, $2, $3, $4, 'pending', 0, $5, $5)"};

#define MUSTER_SELECT_DELIVERY                                                        \
  "SELECT webhook_id, event_seq, type, body, status, attempts, created_at, next_at, " \
  "last_attempt_at, response_status, duration_ms, response_body, error FROM webhook_deliveries "

constexpr Sql kDue{MUSTER_SELECT_DELIVERY
                   "WHERE webhook_id = $1 AND next_at <= $2 ORDER BY next_at, event_seq LIMIT $3"};
constexpr Sql kDelivery{MUSTER_SELECT_DELIVERY "WHERE webhook_id = $1 AND event_seq = $2"};
constexpr Sql kDeliveries{MUSTER_SELECT_DELIVERY
                          "WHERE webhook_id = $1 AND event_seq < $2 "
                          "ORDER BY event_seq DESC LIMIT $3"};
// The second condition is that of the index.
constexpr Sql kOpenOnes{MUSTER_SELECT_DELIVERY
                        "WHERE webhook_id = $1 AND event_seq < $2 AND status = $4 "
                        "AND status <> 'delivered' ORDER BY event_seq DESC LIMIT $3"};
constexpr Sql kDeliveredOnes{MUSTER_SELECT_DELIVERY
                             "WHERE webhook_id = $1 AND event_seq < $2 AND status = 'delivered' "
                             "ORDER BY event_seq DESC LIMIT $3"};
constexpr Sql kResend{
    "UPDATE webhook_deliveries SET status = 'pending', attempts = 0, next_at = $3, "
    "finished_at = NULL WHERE webhook_id = $1 AND event_seq = $2"};
// Of the try that was read with so many before it, and of no other.
constexpr Sql kRecordDelivery{
    "UPDATE webhook_deliveries SET status = $4, attempts = attempts + 1, next_at = $5, "
    "finished_at = $6, last_attempt_at = $7, response_status = $8, duration_ms = $9, "
    "response_body = $10, error = $11 "
    "WHERE webhook_id = $1 AND event_seq = $2 AND attempts = $3 AND next_at IS NOT NULL"};
constexpr Sql kWell{
    "UPDATE webhooks SET failing_since = NULL, last_error = NULL, last_delivered_at = $2 "
    "WHERE webhook_id = $1"};
constexpr Sql kIll{
    "UPDATE webhooks SET failing_since = coalesce(failing_since, $2), last_error = $3 "
    "WHERE webhook_id = $1"};
constexpr Sql kDisable{
    "UPDATE webhooks SET enabled = 0, disabled_reason = $2, version = version + 1, "
    "updated_at = $3 WHERE webhook_id = $1 AND enabled = 1 AND failing_since <= $4"};

constexpr Sql kPending{"SELECT count(*) FROM webhook_deliveries WHERE next_at IS NOT NULL"};
constexpr Sql kRemoveOldDeliveries{
    "DELETE FROM webhook_deliveries WHERE (webhook_id, event_seq) IN "
    "(SELECT webhook_id, event_seq FROM webhook_deliveries WHERE finished_at < $1 "
    "ORDER BY finished_at LIMIT $2)"};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

Webhook readWebhookRow(const SqlRows& row) {
  Webhook webhook;
  webhook.id = WebhookId(row.string(0));
  webhook.spec = {row.string(1), split(row.text(2)), row.string(3), row.string(4),
                  row.integer(5) != 0};
  webhook.disabled_reason = row.string(6);
  webhook.secret = row.string(7);
  webhook.old_secret = row.string(8);
  webhook.old_secret_until = row.maybeTime(9);
  webhook.version = row.integer(10);
  webhook.created_at = row.time(11);
  webhook.updated_at = row.time(12);
  webhook.after_seq = row.integer(13);
  webhook.events_expired = row.integer(14);
  webhook.failing_since = row.maybeTime(15);
  webhook.last_delivered_at = row.maybeTime(16);
  webhook.last_error = row.string(17);
  webhook.pending = row.integer(18);
  return webhook;
}

WebhookDelivery readDeliveryRow(const SqlRows& row) {
  WebhookDelivery delivery;
  delivery.webhook = WebhookId(row.string(0));
  delivery.event_seq = row.integer(1);
  delivery.type = row.string(2);
  delivery.body = row.string(3);
  delivery.status = row.string(4);
  delivery.attempts = static_cast<int>(row.integer(5));
  delivery.created_at = row.time(6);
  delivery.next_attempt_at = row.maybeTime(7);
  delivery.last_attempt_at = row.maybeTime(8);
  if (!row.isNull(9)) delivery.response_status = static_cast<int>(row.integer(9));
  delivery.duration_ms = row.maybeInteger(10);
  delivery.response_body = row.string(11);
  delivery.error = row.string(12);
  return delivery;
}

std::vector<WebhookDelivery> readDeliveries(SqlCursor rows) {
  std::vector<WebhookDelivery> deliveries;
  while (rows.next()) deliveries.push_back(readDeliveryRow(*rows));
  return deliveries;
}

Error noWebhook(const WebhookId& id) {
  return {ErrorCode::kNotFound, "there is no webhook '" + id.str() + "'"};
}

}  // namespace

void Webhooks::emit(std::string_view type, const WebhookId& id, std::string_view reason) {
  JsonWriter details;
  details.beginObject().field("webhook_id", id);
  if (!reason.empty()) details.field("reason", reason);
  details.endObject();
  Event event;
  event.type = type;
  event.details = details.take();
  s_.emit(std::move(event));
}

Result<Webhook> Webhooks::create(const WebhookSpec& spec,
                                 const std::optional<std::string>& secret) {
  {
    auto rows = s_.db.query(kCountWebhooks);
    if (rows.next() && rows->integer(0) >= kMost) {
      return fail(ErrorCode::kTooMany, "there are " + std::to_string(kMost) + " webhooks already");
    }
  }
  const WebhookId id(s_.ids.next(s_.now));
  // Its own creation it need not be told.
  emit(event_type::kWebhookCreated, id);
  const std::int64_t present = Events(s_).last();
  s_.db.execute(kInsertWebhook, id, spec.url, joined(spec.types), orNull(spec.pool),
                orNull(spec.description), spec.enabled,
                secret ? *secret : newStandardSecret(s_.random), s_.now, present);
  return *find(id);
}

std::optional<Webhook> Webhooks::find(const WebhookId& id) {
  auto rows = s_.db.query(kFindWebhook, id);
  return rows.next() ? std::optional(readWebhookRow(*rows)) : std::nullopt;
}

std::vector<Webhook> Webhooks::list(const std::string& after, int limit) {
  std::vector<Webhook> webhooks;
  auto rows = s_.db.query(kListWebhooks, after, limit);
  while (rows.next()) webhooks.push_back(readWebhookRow(*rows));
  return webhooks;
}

Result<Webhook> Webhooks::guarded(const WebhookId& id, const IfVersion& version) {
  auto webhook = find(id);
  if (!webhook) return tl::unexpected(noWebhook(id));
  if (versionFits(version, webhook->version)) return *std::move(webhook);
  return fail(ErrorCode::kVersionMismatch,
              "the webhook is at version " + std::to_string(webhook->version));
}

void Webhooks::save(const Webhook& webhook) {
  const WebhookSpec& spec = webhook.spec;
  s_.db.execute(kSaveWebhook, webhook.id, spec.url, joined(spec.types), orNull(spec.pool),
                orNull(spec.description), spec.enabled, orNull(webhook.disabled_reason),
                webhook.secret, orNull(webhook.old_secret), webhook.old_secret_until, s_.now,
                webhook.failing_since, orNull(webhook.last_error));
}

Result<Webhook> Webhooks::change(const WebhookId& id, const WebhookChange& change,
                                 IfVersion version) {
  auto webhook = guarded(id, version);
  if (!webhook) return webhook;
  const bool was_enabled = webhook->spec.enabled;
  WebhookSpec spec = changed(webhook->spec, change);
  if (spec == webhook->spec) return webhook;
  webhook->spec = std::move(spec);
  if (webhook->spec.enabled && !was_enabled) {
    webhook->disabled_reason.clear();
    webhook->failing_since.reset();
    webhook->last_error.clear();
  }
  save(*webhook);
  const bool stops = was_enabled && !webhook->spec.enabled;
  emit(stops ? event_type::kWebhookDisabled : event_type::kWebhookUpdated, id);
  return *find(id);
}

Result<Webhook> Webhooks::rotate(const WebhookId& id, const std::optional<std::string>& secret,
                                 IfVersion version) {
  auto webhook = guarded(id, version);
  if (!webhook) return webhook;
  webhook->old_secret = webhook->secret;
  webhook->old_secret_until = s_.now + kOldSecretSigns;
  webhook->secret = secret ? *secret : newStandardSecret(s_.random);
  save(*webhook);
  emit(event_type::kWebhookUpdated, id);
  return *find(id);
}

Status Webhooks::remove(const WebhookId& id, IfVersion version) {
  if (auto webhook = guarded(id, version); !webhook) {
    return tl::unexpected(std::move(webhook).error());
  }
  // What has been delivered goes with its time, like all that has ended: it may be much.
  s_.db.execute(kRemovePending, id);
  s_.db.execute(kRemove, id);
  emit(event_type::kWebhookDeleted, id);
  return {};
}

Webhooks::DeliveryPage Webhooks::deliveries(const WebhookId& id, const DeliveryFilter& filter,
                                            int limit) {
  const std::int64_t before =
      filter.before > 0 ? filter.before : std::numeric_limits<std::int64_t>::max();
  DeliveryPage page;
  if (filter.status.empty()) {
    page.deliveries = readDeliveries(s_.db.query(kDeliveries, id, before, limit + 1));
  } else if (filter.status == delivery_status::kDelivered) {
    page.deliveries = readDeliveries(s_.db.query(kDeliveredOnes, id, before, limit + 1));
  } else {
    page.deliveries = readDeliveries(s_.db.query(kOpenOnes, id, before, limit + 1, filter.status));
  }
  page.more = page.deliveries.size() > static_cast<std::size_t>(limit);
  if (page.more) page.deliveries.pop_back();
  return page;
}

Result<WebhookDelivery> Webhooks::resend(const WebhookId& id, const std::string& delivery_id) {
  if (!find(id)) return tl::unexpected(noWebhook(id));
  const std::int64_t event_seq = eventSeqOf(id, delivery_id).value_or(0);
  auto found = readDeliveries(s_.db.query(kDelivery, id, event_seq));
  if (found.empty() || found[0].id() != delivery_id) {
    return fail(ErrorCode::kNotFound, "there is no delivery '" + delivery_id + "'");
  }
  s_.db.execute(kResend, id, event_seq, s_.now);
  return readDeliveries(s_.db.query(kDelivery, id, event_seq)).at(0);
}

std::vector<Webhooks::Reader> Webhooks::readers() {
  std::vector<Reader> readers;
  auto rows = s_.db.query(kEventReaders, s_.now);
  while (rows.next()) {
    readers.push_back({readWebhookRow(*rows), rows->maybeTime(19), rows->maybeTime(20)});
  }
  return readers;
}

bool Webhooks::advance(const Found& found) {
  if (s_.db.execute(kAdvance, found.webhook, found.after_seq, found.read_to, found.expired) == 0) {
    return false;
  }
  for (const Event& event : found.events) {
    s_.db.post(kAddDelivery, found.webhook, event.seq, event.type, writeWebhookBody(event), s_.now);
  }
  return true;
}

std::vector<WebhookDelivery> Webhooks::due(const WebhookId& id, int limit) {
  return readDeliveries(s_.db.query(kDue, id, s_.now, limit));
}

DeliveryVerdict::Kind Webhooks::record(const WebhookDelivery& delivery, const WebhookTry& made,
                                       const WebhookRules& rules) {
  using Kind = DeliveryVerdict::Kind;
  const DeliveryVerdict verdict =
      judgeTry(delivery.attempts + 1, made, rules.retry_base, s_.random.unit());
  const bool again = verdict.kind == Kind::kRetried;
  const std::string_view status = again                              ? delivery_status::kPending
                                  : verdict.kind == Kind::kDelivered ? delivery_status::kDelivered
                                                                     : delivery_status::kFailed;
  s_.db.post(kRecordDelivery, delivery.webhook, delivery.event_seq, delivery.attempts, status,
             again ? std::optional(s_.now + verdict.wait) : std::nullopt,
             again ? std::nullopt : std::optional(s_.now), s_.now,
             made.status ? SqlValue(std::int64_t{*made.status}) : SqlValue(), made.took.count(),
             orNull(made.response_body), orNull(made.error));
  if (verdict.kind == Kind::kDelivered) {
    s_.db.post(kWell, delivery.webhook, s_.now);
    return verdict.kind;
  }
  s_.db.post(kIll, delivery.webhook, s_.now, made.error);
  const bool is_gone = isGone(made);
  const auto since = is_gone ? s_.now : hopelessSince(s_.now, rules.disable_after);
  if (!since) return verdict.kind;
  const std::string_view reason = is_gone ? disabled_reason::kGone : disabled_reason::kFailing;
  if (s_.db.execute(kDisable, delivery.webhook, reason, s_.now, *since) > 0) {
    emit(event_type::kWebhookDisabled, delivery.webhook, reason);
  }
  return verdict.kind;
}

std::int64_t Webhooks::pending() {
  auto rows = s_.db.query(kPending);
  return rows.next() ? rows->integer(0) : 0;
}

std::int64_t Webhooks::removeOldDeliveries(Time before, int limit) {
  return s_.db.execute(kRemoveOldDeliveries, before, limit);
}

}  // namespace muster

#include "controllers/webhook_controller.h"

#include <limits>

#include "app/http/http_url.h"
#include "models/json/json_reader.h"
#include "models/json/webhook_json.h"

namespace muster {
namespace {

constexpr const char* kId = "webhook_id";

bool isUrl(std::string_view text) { return parseHttpUrl(text).has_value(); }

Error noWebhook(const WebhookId& id) {
  return {ErrorCode::kNotFound, "there is no webhook '" + id.str() + "'"};
}

Outcome webhookReply(int status, const Result<Webhook>& webhook, bool with_secret = false) {
  if (!webhook) return tl::unexpected(webhook.error());
  JsonWriter out;
  writeWebhook(out, *webhook, with_secret);
  Reply reply = Reply::json(status, std::move(out));
  reply.with("ETag", etag(webhook->version));
  return reply;
}

// The id in the path, and what If-Match asks of it.
struct Target {
  WebhookId id;
  IfVersion version;
};
Result<Target> targetOf(const Request& request) {
  auto id = request.pathId<WebhookId>(kId);
  if (!id) return tl::unexpected(std::move(id).error());
  auto version = request.ifMatch();
  if (!version) return tl::unexpected(std::move(version).error());
  return Target{*std::move(id), *version};
}

}  // namespace

void WebhookController::addRoutes(Router& router) {
  const auto method = [this](auto member) {
    return [this, member](const Request& request) { return (this->*member)(request); };
  };
  // What changes webhooks may be news to the outbox.
  const auto change = [this](auto member) {
    return [this, member](const RequestPtr& request, const Respond& respond) {
      auto work = (this->*member)(*request);
      if (!work) return respond(tl::unexpected(std::move(work).error()));
      gateway_.write(request, *std::move(work), [this, respond](Outcome outcome) {
        if (outcome) outbox_.look();
        respond(std::move(outcome));
      });
    };
  };
  using C = WebhookController;
  const std::string all = "/v1/webhooks", one = all + "/{webhook_id}";
  router.add("GET", all, Scope::kAdmin, {.read = method(&C::list)});
  router.add("POST", all, Scope::kAdmin, {.answer = change(&C::create)});
  router.add("GET", one, Scope::kAdmin, {.read = method(&C::get)});
  router.add("PATCH", one, Scope::kAdmin, {.answer = change(&C::patch)});
  router.add("DELETE", one, Scope::kAdmin, {.answer = change(&C::remove)});
  router.add("POST", one + "/rotate", Scope::kAdmin, {.answer = change(&C::rotate)});
  router.add("POST", one + "/test", Scope::kAdmin,
             {.answer = [this](const RequestPtr& request, const Respond& respond) {
               test(request, respond);
             }});
  router.add("GET", one + "/deliveries", Scope::kAdmin, {.read = method(&C::deliveries)});
  router.add("POST", one + "/deliveries/{delivery_id}/retry", Scope::kAdmin,
             {.answer = change(&C::resend)});
}

Result<Work> WebhookController::list(const Request& request) {
  QueryReader query(request);
  const int limit = query.limit();
  const std::string cursor = query.id("cursor");
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [limit, cursor](Store& store) -> Outcome {
    const auto webhooks = store.webhooks().list(cursor, limit + 1);
    const std::size_t shown = std::min(webhooks.size(), static_cast<std::size_t>(limit));
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (std::size_t i = 0; i < shown; ++i) writeWebhook(out, webhooks[i]);
    out.endArray();
    if (shown < webhooks.size()) out.field("next_cursor", webhooks[shown - 1].id);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> WebhookController::get(const Request& request) {
  auto id = request.pathId<WebhookId>(kId);
  if (!id) return tl::unexpected(std::move(id).error());
  return [id = *std::move(id)](Store& store) -> Outcome {
    auto webhook = store.webhooks().find(id);
    if (!webhook) return tl::unexpected(noWebhook(id));
    return webhookReply(200, *std::move(webhook));
  };
}

Result<Work> WebhookController::create(const Request& request) {
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  NewWebhook webhook = readNewWebhook(body->root(), isUrl, faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [webhook = std::move(webhook)](Store& store) {
    return webhookReply(201, store.webhooks().create(webhook.spec, webhook.secret), true);
  };
}

Result<Work> WebhookController::patch(const Request& request) {
  auto target = targetOf(request);
  if (!target) return tl::unexpected(std::move(target).error());
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  WebhookChange change = readWebhookChange(body->root(), isUrl, faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [target = *std::move(target), change = std::move(change)](Store& store) {
    return webhookReply(200, store.webhooks().change(target.id, change, target.version));
  };
}

Result<Work> WebhookController::rotate(const Request& request) {
  auto target = targetOf(request);
  if (!target) return tl::unexpected(std::move(target).error());
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  auto secret = readRotation(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [target = *std::move(target), secret = std::move(secret)](Store& store) {
    return webhookReply(200, store.webhooks().rotate(target.id, secret, target.version), true);
  };
}

Result<Work> WebhookController::remove(const Request& request) {
  auto target = targetOf(request);
  if (!target) return tl::unexpected(std::move(target).error());
  return [target = *std::move(target)](Store& store) -> Outcome {
    if (auto ok = store.webhooks().remove(target.id, target.version); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
    return Reply{204, "", ""};
  };
}

Result<Work> WebhookController::deliveries(const Request& request) {
  auto id = request.pathId<WebhookId>(kId);
  if (!id) return tl::unexpected(std::move(id).error());
  QueryReader query(request);
  const int limit = query.limit();
  Webhooks::DeliveryFilter filter;
  filter.before = query.integer("cursor", 1, std::numeric_limits<std::int64_t>::max()).value_or(0);
  filter.status = query.text("status").value_or("");
  if (!filter.status.empty() && filter.status != delivery_status::kPending &&
      filter.status != delivery_status::kDelivered && filter.status != delivery_status::kFailed) {
    query.fault("status", "must be pending, delivered or failed");
  }
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id), filter, limit](Store& store) -> Outcome {
    if (!store.webhooks().find(id)) return tl::unexpected(noWebhook(id));
    const auto page = store.webhooks().deliveries(id, filter, limit);
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const WebhookDelivery& delivery : page.deliveries) writeDelivery(out, delivery);
    out.endArray();
    if (page.more) out.field("next_cursor", std::to_string(page.deliveries.back().event_seq));
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> WebhookController::resend(const Request& request) {
  auto id = request.pathId<WebhookId>(kId);
  if (!id) return tl::unexpected(std::move(id).error());
  auto delivery = request.pathId("delivery_id");
  if (!delivery) return tl::unexpected(std::move(delivery).error());
  if (auto ok = checkNoBody(request); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id), delivery = *std::move(delivery)](Store& store) -> Outcome {
    const auto resent = store.webhooks().resend(id, delivery);
    if (!resent) return tl::unexpected(resent.error());
    JsonWriter out;
    writeDelivery(out, *resent);
    return Reply::json(202, std::move(out));
  };
}

void WebhookController::test(const RequestPtr& request, const Respond& respond) {
  auto id = request->pathId<WebhookId>(kId);
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  if (auto ok = checkNoBody(*request); !ok) {
    return respond(tl::unexpected(std::move(ok).error()));
  }
  auto webhook = std::make_shared<Webhook>();
  gateway_.read(
      request,
      [id = *std::move(id), webhook](Store& store) -> Outcome {
        auto found = store.webhooks().find(id);
        if (!found) return tl::unexpected(noWebhook(id));
        *webhook = *std::move(found);
        return Reply{};
      },
      [this, webhook, respond](Outcome read) {
        if (!read) return respond(std::move(read));
        Executor& loop = currentLoop();
        const auto tell = [&loop, respond](const WebhookTry& made, const std::string& message_id) {
          JsonWriter out;
          writeTry(out, made, message_id);
          loop.post({[respond, reply = Reply::json(200, std::move(out))] { respond(reply); }});
        };
        if (outbox_.test(*webhook, tell)) return;
        respond(tl::unexpected(Error{
            ErrorCode::kRateLimited, "too many tests of webhooks are under way", {}, Seconds(1)}));
      });
}

}  // namespace muster

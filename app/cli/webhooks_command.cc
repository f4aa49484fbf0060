#include <fmt/format.h>

#include <ostream>

#include "app/cli/service_call.h"
#include "app/cli/table.h"
#include "app/cli/webhook_options.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

std::string pathTo(const std::string& id) { return apiPath({"v1", "webhooks", id}); }

std::string typesOf(JsonValue webhook) {
  std::string all;
  for (const JsonValue& type : itemsOf(webhook, "types")) {
    all += (all.empty() ? "" : ",") + type.string().value_or("");
  }
  return all.empty() ? "all" : all;
}

Cell webhookState(JsonValue value) {
  const std::string status = textOf(value, "status");
  const bool good = status == "active" || status == "delivered";
  const bool bad = status == "failing" || status == "failed";
  return {status, good ? Tint::kGood : bad ? Tint::kBad : Tint::kFaint};
}

// The secret alone on standard output, for scripts; what it means beside it.
void printSecret(Terminal& terminal, const Reply& reply, std::string_view what) {
  if (terminal.json) {
    terminal.out << reply.json.text() << "\n";
    return;
  }
  const JsonValue webhook = reply.json.root();
  terminal.out << printable(textOf(webhook, "secret")) << "\n";
  terminal.err << fmt::format("{} {}; its secret is shown only now\n", what,
                              printable(textOf(webhook, "id")));
}

}  // namespace

int run(const WebhookListCommand& command, ApiClient& api, Terminal& terminal) {
  const auto webhooks = list(api, terminal, "/v1/webhooks", {}, command.limit);
  if (!webhooks) return webhooks.error();
  if (terminal.json) {
    printItems(terminal, *webhooks);
    return kExitOk;
  }
  Table table({{.title = "WEBHOOK"},
               {.title = "STATE"},
               {.title = "URL", .can_shrink = true},
               {.title = "TYPES", .can_shrink = true},
               {.title = "POOL", .can_shrink = true},
               {.title = "PENDING", .is_number = true},
               {.title = "DELIVERED"}});
  for (const auto& webhook : webhooks->items) {
    table.add({textOf(webhook, "id"), webhookState(webhook), textOf(webhook, "url"),
               typesOf(webhook), textOf(webhook, "pool_id"), textOf(webhook, "pending_deliveries"),
               ago(webhook, "last_delivered_at", webhooks->now)});
  }
  if (table.empty()) {
    terminal.err << "no webhooks\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *webhooks);
  return kExitOk;
}

int run(const WebhookAddCommand& command, ApiClient& api, Terminal& terminal) {
  JsonWriter body;
  body.beginObject().field("url", command.url);
  if (!command.types.empty()) body.list("types", command.types);
  if (!command.pool.empty()) body.field("pool_id", command.pool);
  if (!command.description.empty()) body.field("description", command.description);
  body.endObject();
  const auto reply =
      call(api, terminal, {.method = "POST", .path = "/v1/webhooks", .body = body.take()});
  if (!reply) return reply.error();
  printSecret(terminal, *reply, "added");
  return kExitOk;
}

int run(const WebhookShowCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = pathTo(command.id)});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const JsonValue webhook = reply->json.root();
  std::vector<std::pair<std::string, Cell>> pairs;
  pairs.emplace_back("id", textOf(webhook, "id"));
  pairs.emplace_back("state", webhookState(webhook));
  pairs.emplace_back("url", textOf(webhook, "url"));
  pairs.emplace_back("types", typesOf(webhook));
  for (const char* name : {"pool_id", "description", "disabled_reason", "last_error",
                           "pending_deliveries", "events_expired"}) {
    const std::string value = textOf(webhook, name);
    if (!value.empty()) pairs.emplace_back(name, value);
  }
  for (const char* name : {"failing_since", "last_delivered_at", "created_at", "updated_at"}) {
    const std::string value = timeAndAgo(webhook, name, reply->now);
    if (!value.empty()) pairs.emplace_back(name, value);
  }
  terminal.out << renderPairs(pairs, terminal.color);
  return kExitOk;
}

int run(const WebhookChangeCommand& command, ApiClient& api, Terminal& terminal) {
  using Change = WebhookChangeCommand::Change;
  HttpRequest request{.method = "PATCH", .path = pathTo(command.id)};
  if (command.change == Change::kRemove) {
    request.method = "DELETE";
  } else {
    JsonWriter body;
    body.beginObject().field("enabled", command.change == Change::kEnable).endObject();
    request.body = body.take();
  }
  const auto reply = call(api, terminal, request);
  if (!reply) return reply.error();
  const std::string_view done = command.change == Change::kRemove   ? "removed"
                                : command.change == Change::kEnable ? "enabled"
                                                                    : "disabled";
  if (terminal.json && command.change != Change::kRemove) {
    terminal.out << reply->json.text() << "\n";
  } else {
    terminal.err << fmt::format("{} {}\n", done, printable(command.id));
  }
  return kExitOk;
}

int run(const WebhookRotateCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply =
      call(api, terminal, {.method = "POST", .path = pathTo(command.id) + "/rotate"});
  if (!reply) return reply.error();
  printSecret(terminal, *reply, "rotated");
  return kExitOk;
}

int run(const WebhookTestCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.method = "POST", .path = pathTo(command.id) + "/test"});
  if (!reply) return reply.error();
  const JsonValue made = reply->json.root();
  const bool arrived = textOf(made, "delivered") == "true";
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else if (arrived) {
    terminal.out << fmt::format("delivered: answered {} after {} ms\n",
                                textOf(made, "response_status"), textOf(made, "duration_ms"));
  } else {
    terminal.out << fmt::format("not delivered: {}\n", printable(textOf(made, "error")));
  }
  return arrived ? kExitOk : kExitFailed;
}

int run(const WebhookDeliveriesCommand& command, ApiClient& api, Terminal& terminal) {
  if (!command.resend.empty()) {
    const auto reply = call(
        api, terminal,
        {.method = "POST",
         .path = apiPath({"v1", "webhooks", command.id, "deliveries", command.resend, "retry"})});
    if (!reply) return reply.error();
    if (terminal.json) terminal.out << reply->json.text() << "\n";
    terminal.err << fmt::format("will be delivered again: {}\n", printable(command.resend));
    return kExitOk;
  }
  const auto sent = list(api, terminal, pathTo(command.id) + "/deliveries",
                         {{"status", command.status}}, command.limit);
  if (!sent) return sent.error();
  if (terminal.json) {
    printItems(terminal, *sent);
    return kExitOk;
  }
  Table table({{.title = "DELIVERY", .can_shrink = true},
               {.title = "TYPE"},
               {.title = "STATE"},
               {.title = "TRIES", .is_number = true},
               {.title = "LAST TRY"},
               {.title = "ANSWER", .is_number = true},
               {.title = "ERROR", .can_shrink = true}});
  for (const auto& delivery : sent->items) {
    table.add({textOf(delivery, "id"), textOf(delivery, "type"), webhookState(delivery),
               textOf(delivery, "attempts"), ago(delivery, "last_attempt_at", sent->now),
               textOf(delivery, "response_status"), textOf(delivery, "error")});
  }
  if (table.empty()) {
    terminal.err << "no deliveries\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *sent);
  return kExitOk;
}

}  // namespace muster

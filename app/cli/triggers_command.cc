#include <fmt/format.h>

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

// What it waits for: an event, a time or a call.
std::string cause(JsonValue trigger) {
  std::string on = textOf(trigger, "on");
  const std::string schedule = textOf(trigger, "schedule"), zone = textOf(trigger, "timezone");
  if (!on.empty()) return on;
  if (!schedule.empty()) return zone.empty() ? schedule : fmt::format("{} {}", schedule, zone);
  return textOf(trigger, "type") == "webhook" ? "/v1/hooks/" + textOf(trigger, "name") : "";
}

std::string poolOf(JsonValue trigger) {
  const auto input = member(trigger, "input");
  return input ? textOf(*input, "pool_id") : "";
}

Cell triggerState(JsonValue trigger) {
  const bool enabled = textOf(trigger, "enabled") == "true";
  return enabled ? Cell("on", Tint::kGood) : Cell("off", Tint::kFaint);
}

}  // namespace

int run(const TriggerListCommand& command, ApiClient& api, Terminal& terminal) {
  const auto triggers = list(api, terminal, "/v1/triggers", {}, command.limit);
  if (!triggers) return triggers.error();
  if (terminal.json) {
    printItems(terminal, *triggers);
    return kExitOk;
  }
  Table table({{.title = "TRIGGER", .can_shrink = true},
               {.title = "TYPE"},
               {.title = "STATE"},
               {.title = "FIRES ON", .can_shrink = true},
               {.title = "MACHINE", .can_shrink = true},
               {.title = "POOL", .can_shrink = true},
               {.title = "FIRED"},
               {.title = "SOURCE"}});
  for (const auto& trigger : triggers->items) {
    table.add({textOf(trigger, "name"), textOf(trigger, "type"), triggerState(trigger),
               cause(trigger), textOf(trigger, "machine"), poolOf(trigger),
               ago(trigger, "last_fired_at", triggers->now), textOf(trigger, "source")});
  }
  if (table.empty()) {
    terminal.err << "no triggers\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *triggers);
  return kExitOk;
}

int run(const TriggerShowCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = apiPath({"v1", "triggers", command.name})});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const JsonValue trigger = reply->json.root();
  std::vector<std::pair<std::string, Cell>> pairs;
  pairs.emplace_back("name", textOf(trigger, "name"));
  pairs.emplace_back("state", triggerState(trigger));
  for (const char* name :
       {"type", "schedule", "timezone", "on", "machine", "input", "auth", "source"}) {
    const std::string value = textOf(trigger, name);
    if (!value.empty() && value != "{}") pairs.emplace_back(name, value);
  }
  for (const char* name : {"last_fired_at", "created_at", "updated_at"}) {
    const std::string value = timeAndAgo(trigger, name, reply->now);
    if (!value.empty()) pairs.emplace_back(name, value);
  }
  const std::string next = textOf(trigger, "next_fire_at");
  if (!next.empty()) pairs.emplace_back("next_fire_at", next);
  terminal.out << renderPairs(pairs, terminal.color);
  return kExitOk;
}

int run(const TriggerFireCommand& command, ApiClient& api, Terminal& terminal) {
  HttpRequest request{.method = "POST", .path = apiPath({"v1", "triggers", command.name, "fire"})};
  if (!command.pool.empty()) {
    JsonWriter body;
    body.beginObject().field("pool_id", command.pool).endObject();
    request.body = body.take();
  }
  const auto reply = call(api, terminal, request);
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else {
    terminal.out << printable(textOf(reply->json.root(), "run_id")) << "\n";
    terminal.err << fmt::format("fired {}\n", printable(command.name));
  }
  return kExitOk;
}

}  // namespace muster

#include <fmt/format.h>

#include <ostream>

#include "app/cli/circuit_view.h"
#include "app/cli/commands.h"
#include "app/cli/pool_assignments.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr auto kBulkTimeout = Seconds(600);

std::string poolPath(const std::string& pool) { return apiPath({"v1", "pools", pool}); }

// Adds "scaling.max_workers  4" and the like for everything inside.
void flatten(JsonValue value, const std::string& prefix,
             std::vector<std::pair<std::string, Cell>>& pairs) {
  for (auto it = value.begin(); !(it == value.end()); ++it) {
    const JsonValue inner = *it;
    const std::string name = prefix + it.key();
    if (inner.isObject()) {
      flatten(inner, name + ".", pairs);
    } else {
      pairs.emplace_back(name, inner.string().value_or(std::string(inner.raw())));
    }
  }
}

int printObject(Terminal& terminal, const tl::expected<Reply, int>& reply) {
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  std::vector<std::pair<std::string, Cell>> pairs;
  if (reply->json.root().isObject()) flatten(reply->json.root(), "", pairs);
  terminal.out << renderPairs(pairs, terminal.color);
  return kExitOk;
}

std::string poolState(JsonValue pool) {
  if (textOf(pool, "paused") == "true") return "paused";
  if (std::string circuit = circuitText(pool); !circuit.empty()) return circuit;
  const std::string launches = textOf(pool, "launch_state");
  return launches.empty() ? "ok" : launches;
}

// A row with the pool's numbers, or its name alone when they cannot be had.
std::vector<Cell> rowOf(ApiClient& api, JsonValue pool, const std::optional<Time>& now) {
  const std::string name = textOf(pool, "pool_id"), state = poolState(pool);
  const auto scaling = member(pool, "scaling");
  std::vector<Cell> row = {name, Cell(state, tintOfStatus(state))};
  const auto answer = api.send({.path = poolPath(name) + "/stats"});
  const auto stats = answer && answer->ok() ? JsonAnswer::parse(answer->body) : std::nullopt;
  for (const char* number : {"queue_depth", "claimed", "done", "poisoned", "active_workers"}) {
    const std::string text = stats ? textOf(stats->root(), number) : "?";
    const bool is_bad = std::string_view(number) == "poisoned" && text != "0" && text != "?";
    row.emplace_back(text, is_bad ? Tint::kBad : Tint::kNone);
  }
  row.emplace_back(scaling ? textOf(*scaling, "max_workers") : "");
  row.emplace_back(textOf(pool, "template"));
  row.emplace_back(ago(pool, "created_at", now));
  return row;
}

std::string bulkBody(const PoolBulkCommand& command) {
  JsonWriter json;
  json.beginObject();
  if (!command.statuses.empty()) json.list("status", command.statuses);
  const std::pair<const char*, const std::string&> texts[] = {
      {"tenant", command.tenant},
      {"error_class", command.error_class},
      {"error_contains", command.error_contains},
      {"created_after", command.created_after},
      {"created_before", command.created_before},
      {"failed_after", command.failed_after}};
  for (const auto& [name, text] : texts) {
    if (!text.empty()) json.field(name, text);
  }
  json.field("older_than_seconds", command.older_than_seconds).field("limit", command.limit);
  return json.endObject().take();
}

}  // namespace

int run(const PoolListCommand& command, ApiClient& api, Terminal& terminal) {
  const auto pools = list(api, terminal, "/v1/pools", {}, command.limit);
  if (!pools) return pools.error();
  if (terminal.json) {
    printItems(terminal, *pools);
    return kExitOk;
  }
  Table table({{.title = "POOL", .can_shrink = true},
               {.title = "STATE"},
               {.title = "PENDING", .is_number = true},
               {.title = "CLAIMED", .is_number = true},
               {.title = "DONE", .is_number = true},
               {.title = "POISONED", .is_number = true},
               {.title = "WORKERS", .is_number = true},
               {.title = "MAX", .is_number = true},
               {.title = "TEMPLATE", .can_shrink = true},
               {.title = "CREATED"}});
  for (const auto& pool : pools->items) table.add(rowOf(api, pool, pools->now));
  if (table.empty()) {
    terminal.err << "no pools yet; `muster push POOL --data '{}'` makes one\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *pools);
  return kExitOk;
}

int run(const PoolShowCommand& command, ApiClient& api, Terminal& terminal) {
  return printObject(terminal, call(api, terminal, {.path = poolPath(command.pool)}));
}

int run(const PoolStatsCommand& command, ApiClient& api, Terminal& terminal) {
  return printObject(terminal, call(api, terminal, {.path = poolPath(command.pool) + "/stats"}));
}

int run(const PoolSetCommand& command, ApiClient& api, Terminal& terminal) {
  const auto made = readPoolAssignments(command.assignments);
  if (!made) {
    for (const auto& fault : made.error().fields) {
      terminal.err << fmt::format("{}: {}\n", printable(fault.pointer), fault.detail);
    }
    return kExitUsage;
  }
  // A pool that is not there yet is made with these settings.
  const std::string path = poolPath(command.pool);
  const auto found = api.send({.path = path});
  if (found && found->status == 404) {
    return printObject(terminal,
                       call(api, terminal, {.method = "PUT", .path = path, .body = made->json}));
  }
  std::string unset;
  for (const std::string& name : made->unset) unset += (unset.empty() ? "" : ",") + name;
  return printObject(
      terminal,
      call(api, terminal,
           {.method = "PATCH", .path = path + apiQuery({{"unset", unset}}), .body = made->json}));
}

int run(const PoolChangeCommand& command, ApiClient& api, Terminal& terminal) {
  using Change = PoolChangeCommand::Change;
  HttpRequest request{.method = "POST", .path = poolPath(command.pool)};
  std::string done = "removed";
  if (command.change == Change::kRemove) {
    request.method = "DELETE";
    if (command.force) request.path += apiQuery({{"force", "true"}});
  } else {
    const bool pauses = command.change == Change::kPause;
    request.path += pauses ? "/pause" : "/resume";
    done = pauses ? "paused" : "resumed";
  }
  const auto reply = call(api, terminal, request);
  if (!reply) return reply.error();
  if (terminal.json && command.change != Change::kRemove) {
    terminal.out << reply->json.text() << "\n";
  } else {
    terminal.err << fmt::format("{} {}\n", done, printable(command.pool));
  }
  return kExitOk;
}

int run(const PoolBulkCommand& command, ApiClient& api, Terminal& terminal) {
  const bool purges = command.bulk == PoolBulkCommand::Bulk::kPurge;
  const auto reply = call(api, terminal,
                          {.method = "POST",
                           .path = poolPath(command.pool) + (purges ? "/purge" : "/retry"),
                           .body = bulkBody(command),
                           .timeout = kBulkTimeout});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else {
    terminal.err << fmt::format("{} {} jobs of {}\n", purges ? "removed" : "retried",
                                printable(textOf(reply->json.root(), "count")),
                                printable(command.pool));
  }
  return kExitOk;
}

}  // namespace muster

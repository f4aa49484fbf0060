#include <fmt/format.h>

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"

namespace muster {
namespace {

std::string scopesOf(JsonValue token) {
  std::string all;
  for (const JsonValue& scope : itemsOf(token, "scopes")) {
    all += (all.empty() ? "" : ",") + scope.string().value_or("");
  }
  return all;
}

std::string expiryOf(JsonValue token) {
  const std::string at = textOf(token, "expires_at");
  return at.empty() ? "never" : at;
}

}  // namespace

int run(const TokenListCommand&, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = "/v1/tokens"});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  Table table({{.title = "TOKEN"}, {.title = "SCOPES", .can_shrink = true}, {.title = "EXPIRES"}});
  for (const JsonValue& token : itemsOf(reply->json.root(), "items")) {
    table.add({textOf(token, "name"), scopesOf(token), expiryOf(token)});
  }
  if (table.empty()) {
    terminal.err << "no tokens are configured: whoever reaches the service may do everything\n";
    return kExitOk;
  }
  terminal.out << table.render(terminal.width, terminal.color);
  return kExitOk;
}

int run(const TokenCheckCommand&, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = "/v1/tokens/self"});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const JsonValue token = reply->json.root();
  const std::string name = textOf(token, "name");
  if (name.empty()) terminal.err << "no tokens are configured: nobody needs one\n";
  terminal.out << renderPairs(
      {{"token", name}, {"scopes", scopesOf(token)}, {"expires", expiryOf(token)}}, terminal.color);
  return kExitOk;
}

int run(const TokenRotateWorkersCommand&, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.method = "POST", .path = "/v1/tokens/rotate_workers"});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  terminal.out << fmt::format("ended the tokens of {} workers; their jobs are tried again\n",
                              textOf(reply->json.root(), "count"));
  return kExitOk;
}

int run(const AuditCommand& command, ApiClient& api, Terminal& terminal) {
  QueryParameters parameters;
  if (!command.by.empty()) parameters.emplace_back("by", command.by);
  const auto changes = list(api, terminal, "/v1/audit", parameters, command.limit);
  if (!changes) return changes.error();
  if (terminal.json) {
    printItems(terminal, *changes);
    return kExitOk;
  }
  Table table({{.title = "AT"},
               {.title = "BY"},
               {.title = "ADDRESS"},
               {.title = "CHANGE", .can_shrink = true},
               {.title = "STATUS", .is_number = true}});
  for (const JsonValue& change : changes->items) {
    table.add({textOf(change, "at"), textOf(change, "by"), textOf(change, "address"),
               textOf(change, "method") + " " + textOf(change, "path"), textOf(change, "status")});
  }
  terminal.out << table.render(terminal.width, terminal.color);
  noteMore(terminal, *changes);
  return kExitOk;
}

}  // namespace muster

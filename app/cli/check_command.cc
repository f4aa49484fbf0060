#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/decision_view.h"
#include "app/cli/service_call.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr std::size_t kMostPoolsChecked = 1'000'000;

HttpRequest checkOf(const CheckCommand& command, const std::string& pool) {
  const std::string path = apiPath({"v1", "pools", pool, "check"});
  if (command.explain) {
    const std::string max = command.max_workers ? std::to_string(*command.max_workers) : "";
    return {.path = path + apiQuery({{"max_workers", max}})};
  }
  JsonWriter body;
  body.beginObject().field("max_workers", command.max_workers).endObject();
  return {.method = "POST", .path = path, .body = body.take()};
}

int checkOne(const CheckCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, checkOf(command, command.pool));
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else {
    terminal.out << decisionText(reply->json.root(), terminal.width, terminal.color);
  }
  return kExitOk;
}

int checkAll(const CheckCommand& command, ApiClient& api, Terminal& terminal) {
  const auto pools = list(api, terminal, "/v1/pools", {}, kMostPoolsChecked);
  if (!pools) return pools.error();
  Listing checked;
  int exit_code = kExitOk;
  for (const auto& pool : pools->items) {
    if (textOf(pool, "template").empty()) continue;
    auto reply = call(api, terminal, checkOf(command, textOf(pool, "pool_id")));
    if (!reply) {
      exit_code = reply.error();
      if (exit_code == kExitUnreachable) return exit_code;
      continue;
    }
    checked.items.push_back(checked.pages.emplace_back(std::move(reply->json)).root());
  }
  if (terminal.json) {
    printItems(terminal, checked);
  } else if (checked.items.empty()) {
    terminal.err << "no pool has a template; `muster pools set POOL template=echo` gives it one\n";
  } else {
    terminal.out << checkedPoolsTable(checked.items).render(terminal.width, terminal.color);
  }
  return exit_code;
}

}  // namespace

int run(const CheckCommand& command, ApiClient& api, Terminal& terminal) {
  const int code =
      command.pool.empty() ? checkAll(command, api, terminal) : checkOne(command, api, terminal);
  if (code == kExitOk && command.explain && !terminal.json) {
    terminal.err << "only a look: nothing was launched\n";
  }
  return code;
}

int run(const DecisionsCommand& command, ApiClient& api, Terminal& terminal) {
  const auto decisions =
      list(api, terminal, apiPath({"v1", "pools", command.pool, "decisions"}), {}, command.limit);
  if (!decisions) return decisions.error();
  if (terminal.json) {
    printItems(terminal, *decisions);
    return kExitOk;
  }
  if (decisions->items.empty()) {
    terminal.err << "no decisions about " << printable(command.pool) << "\n";
  } else {
    terminal.out << decisionTable(decisions->items).render(terminal.width, terminal.color);
  }
  noteMore(terminal, *decisions);
  return kExitOk;
}

}  // namespace muster

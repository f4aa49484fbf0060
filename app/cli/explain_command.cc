#include <fmt/format.h>

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/decision_view.h"
#include "app/cli/explain_figures.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"

namespace muster {

int run(const ExplainCommand& command, ApiClient& api, Terminal& terminal) {
  const auto body = readExplainFigures(command.figures);
  if (!body) {
    for (const auto& fault : body.error().fields) {
      terminal.err << fmt::format("{}: {}\n", printable(fault.pointer), fault.detail);
    }
    return kExitUsage;
  }
  const auto reply =
      call(api, terminal, {.method = "POST", .path = "/v1/autoscaler/explain", .body = *body});
  if (!reply) return reply.error();
  const JsonValue decision = reply->json.root();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else if (member(decision, "inputs")) {
    terminal.out << decisionText(decision, terminal.width, terminal.color);
  } else {
    terminal.out << adaptiveText(decision, terminal.color);
  }
  return kExitOk;
}

}  // namespace muster

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"
#include "models/json/json_writer.h"

namespace muster {

int run(const ScaleCommand& command, ApiClient& api, Terminal& terminal) {
  HttpRequest request{.path = apiPath({"v1", "pools", command.pool, "scale"})};
  if (command.target_workers) {
    JsonWriter body;
    body.beginObject().field("target_workers", command.target_workers).endObject();
    request.method = "PUT";
    request.body = body.take();
  }
  const auto reply = call(api, terminal, request);
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  std::vector<std::pair<std::string, Cell>> pairs;
  for (const char* name :
       {"pool_id", "mode", "current_workers", "target_workers", "min_workers", "max_workers"}) {
    const std::string value = textOf(reply->json.root(), name);
    if (!value.empty()) pairs.emplace_back(name, value);
  }
  terminal.out << renderPairs(pairs, terminal.color);
  return kExitOk;
}

}  // namespace muster

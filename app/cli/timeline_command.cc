#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/service_call.h"
#include "app/cli/timeline_view.h"

namespace muster {

int run(const TimelineCommand& command, ApiClient& api, Terminal& terminal) {
  QueryParameters query = {{"buckets", std::to_string(command.buckets)}};
  if (!command.from.empty()) query.emplace_back("from", command.from);
  if (!command.to.empty()) query.emplace_back("to", command.to);
  const auto reply =
      call(api, terminal,
           {.path = apiPath({"v1", "pools", command.pool, "timeline"}) + apiQuery(query)});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else {
    terminal.out << timelineTable(reply->json.root()).render(terminal.width, terminal.color);
  }
  return kExitOk;
}

}  // namespace muster

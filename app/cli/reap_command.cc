#include <fmt/format.h>

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

HttpRequest reapOf(const ReapCommand& command) {
  const std::string path =
      command.pool.empty() ? "/v1/reap" : apiPath({"v1", "pools", command.pool, "reap"});
  const auto& threshold = command.stale_threshold_seconds;
  if (command.dry_run) {
    return {.path = path + apiQuery({{"stale_threshold_seconds",
                                      threshold ? fmt::format("{}", *threshold) : ""}})};
  }
  JsonWriter body;
  body.beginObject().field("stale_threshold_seconds", threshold).endObject();
  return {.method = "POST", .path = path, .body = body.take()};
}

}  // namespace

int run(const ReapCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, reapOf(command));
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const JsonValue root = reply->json.root();
  for (const auto& worker : itemsOf(root, "reaped_workers")) {
    terminal.out << printable(worker.string().value_or("")) << "\n";
  }
  terminal.err << fmt::format("{} {} workers, {} jobs go back\n",
                              command.dry_run ? "would reap" : "reaped",
                              textOf(root, "reaped_count"), textOf(root, "total_jobs_released"));
  return kExitOk;
}

}  // namespace muster

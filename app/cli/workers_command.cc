#include <fmt/format.h>

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"

namespace muster {
namespace {

std::string placeOf(JsonValue worker) {
  const std::string host = textOf(worker, "host"), pid = textOf(worker, "pid");
  return pid.empty() ? host : fmt::format("{}/{}", host, pid);
}

std::string exitOf(JsonValue worker) {
  const std::string signal = textOf(worker, "exit_signal");
  return signal.empty() ? textOf(worker, "exit_code") : "signal " + signal;
}

void printWorker(Terminal& terminal, JsonValue worker, const std::optional<Time>& now) {
  const std::string status = textOf(worker, "status");
  std::vector<std::pair<std::string, Cell>> pairs;
  pairs.emplace_back("id", textOf(worker, "worker_id"));
  pairs.emplace_back("status", Cell(status, tintOfStatus(status)));
  for (const char* name :
       {"status_reason", "pool_id", "mode", "host", "pid", "slots", "current_task_id", "jobs_done",
        "jobs_failed", "capabilities", "executor_types", "metadata", "metrics"}) {
    const std::string value = textOf(worker, name);
    if (!value.empty() && value != "[]" && value != "{}") pairs.emplace_back(name, value);
  }
  for (const char* name : {"started_at", "launched_at", "last_heartbeat"}) {
    const std::string value = timeAndAgo(worker, name, now);
    if (!value.empty()) pairs.emplace_back(name, value);
  }
  if (const std::string exit = exitOf(worker); !exit.empty()) pairs.emplace_back("exit", exit);
  terminal.out << renderPairs(pairs, terminal.color);
  if (const std::string output = textOf(worker, "output_tail"); !output.empty()) {
    terminal.out << "output\n" << printableLines(output) << "\n";
  }
}

}  // namespace

int run(const WorkerListCommand& command, ApiClient& api, Terminal& terminal) {
  QueryParameters parameters = {{"pool_id", command.pool}, {"capability", command.capability}};
  for (const auto& status : command.statuses) parameters.emplace_back("status", status);
  const auto workers = list(api, terminal, "/v1/workers", parameters, command.limit);
  if (!workers) return workers.error();
  if (terminal.json) {
    printItems(terminal, *workers);
    return kExitOk;
  }
  Table table({{.title = "WORKER", .can_shrink = true},
               {.title = "POOL", .can_shrink = true},
               {.title = "STATUS"},
               {.title = "HEARTBEAT"},
               {.title = "DONE", .is_number = true},
               {.title = "FAILED", .is_number = true},
               {.title = "HOST/PID", .can_shrink = true},
               {.title = "JOB", .can_shrink = true}});
  for (const auto& worker : workers->items) {
    const std::string status = textOf(worker, "status");
    table.add({textOf(worker, "worker_id"), textOf(worker, "pool_id"),
               Cell(status, tintOfStatus(status)), ago(worker, "last_heartbeat", workers->now),
               textOf(worker, "jobs_done"), textOf(worker, "jobs_failed"), placeOf(worker),
               textOf(worker, "current_task_id")});
  }
  if (table.empty()) {
    terminal.err << "no workers\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *workers);
  return kExitOk;
}

int run(const WorkerShowCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = apiPath({"v1", "workers", command.id})});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else {
    printWorker(terminal, reply->json.root(), reply->now);
  }
  return kExitOk;
}

int run(const WorkerOutputCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply =
      call(api, terminal, {.path = apiPath({"v1", "workers", command.id, "output"})});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const JsonValue root = reply->json.root();
  const std::string output = textOf(root, "output");
  if (output.empty()) {
    terminal.err
        << "nothing is known of its output: it printed nothing, or was not launched here\n";
    return kExitOk;
  }
  if (textOf(root, "truncated") == "true") {
    terminal.err << fmt::format("only the last {} bytes were kept\n", output.size());
  }
  const bool to_screen = terminal.width > 0;
  terminal.out << (to_screen ? printableLines(output) : output);
  if (!output.ends_with('\n')) terminal.out << "\n";
  return kExitOk;
}

int run(const WorkerStopCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply =
      call(api, terminal,
           {.method = "POST", .path = apiPath({"v1", "workers", command.id, "terminate"})});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const JsonValue worker = reply->json.root();
  const std::string status = textOf(worker, "status");
  terminal.out << fmt::format("{}  {}{}\n", printable(textOf(worker, "worker_id")),
                              printable(status),
                              status == "terminating" ? ", ends after its job" : "");
  return kExitOk;
}

}  // namespace muster

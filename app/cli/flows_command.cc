#include <fmt/format.h>

#include <ostream>

#include "app/cli/flow_options.h"
#include "app/cli/flow_view.h"
#include "app/cli/job_note.h"
#include "app/cli/service_call.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

// Edges are listed with all that a job waits for, which may be many for few jobs.
constexpr std::size_t kMostEdges = 10'000;

std::string flowPath(const std::string& id, const std::string& tail = "") {
  return apiPath({"v1", "flows", id}) + tail;
}

// What a change made of the flow, on one line.
void printChanged(Terminal& terminal, const Reply& reply, JsonValue flow, const std::string& more) {
  if (terminal.json) {
    terminal.out << reply.json.text() << "\n";
    return;
  }
  terminal.out << fmt::format("{}  {}{}\n", printable(textOf(flow, "flow_id")),
                              printable(textOf(flow, "status")), more);
}

// Says which jobs of the flow the tree leaves out.
std::string restText(JsonValue flow, const Listing& jobs, const std::string& id) {
  const std::size_t total = jobsOf(flow), shown = jobs.items.size();
  if (total <= shown) return "";
  if (!jobs.has_more) return fmt::format("{} jobs went with their pool\n", total - shown);
  return fmt::format("and {} more jobs; --limit shows more, `muster flows jobs {}` lists them\n",
                     total - shown, printable(id));
}

}  // namespace

int run(const FlowListCommand& command, ApiClient& api, Terminal& terminal) {
  const auto flows =
      list(api, terminal, "/v1/flows",
           {{"status", command.status}, {"name", command.name}, {"tenant", command.tenant}},
           command.limit);
  if (!flows) return flows.error();
  if (terminal.json) {
    printItems(terminal, *flows);
    return kExitOk;
  }
  const Table table = flowTable(flows->items, flows->now);
  if (table.empty()) {
    terminal.err << "no flows\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *flows);
  return kExitOk;
}

int run(const FlowShowCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = flowPath(command.id)});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const auto jobs = list(api, terminal, flowPath(command.id, "/jobs"), {}, command.limit);
  if (!jobs) return jobs.error();
  const auto edges = list(api, terminal, flowPath(command.id, "/edges"), {}, kMostEdges);
  if (!edges) return edges.error();
  const JsonValue flow = reply->json.root();
  terminal.out << flowHeading(flow, reply->now, terminal.color);
  if (!jobs->items.empty()) {
    terminal.out
        << "\n"
        << flowTree(jobs->items, edges->items, jobs->now).render(terminal.width, terminal.color);
  }
  terminal.err << restText(flow, *jobs, command.id);
  return kExitOk;
}

int run(const FlowJobsCommand& command, ApiClient& api, Terminal& terminal) {
  const auto jobs = list(api, terminal, flowPath(command.id, "/jobs"),
                         {{"status", command.status}, {"parent", command.parent}}, command.limit);
  if (!jobs) return jobs.error();
  if (terminal.json) {
    printItems(terminal, *jobs);
    return kExitOk;
  }
  Table table({{.title = "NAME", .can_shrink = true},
               {.title = "ID"},
               {.title = "POOL", .can_shrink = true},
               {.title = "STATUS"},
               {.title = "TRIES", .is_number = true},
               {.title = "PARENT", .can_shrink = true},
               {.title = "NOTE", .can_shrink = true}});
  for (const auto& job : jobs->items) {
    const std::string status = textOf(job, "status");
    table.add({textOf(job, "name"), textOf(job, "id"), textOf(job, "pool_id"),
               Cell(status, tintOfStatus(status)),
               textOf(job, "attempts") + "/" + textOf(job, "max_retries"), textOf(job, "parent_id"),
               jobNote(job, jobs->now)});
  }
  if (table.empty()) {
    terminal.err << "no such jobs in this flow\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *jobs);
  return kExitOk;
}

int run(const FlowCloseCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply =
      call(api, terminal, {.method = "POST", .path = flowPath(command.id, "/close")});
  if (!reply) return reply.error();
  printChanged(terminal, *reply, reply->json.root(), ", closed");
  return kExitOk;
}

int run(const FlowCancelCommand& command, ApiClient& api, Terminal& terminal) {
  JsonWriter body;
  body.beginObject();
  if (!command.reason.empty()) body.field("reason", command.reason);
  const auto reply = call(
      api, terminal,
      {.method = "POST", .path = flowPath(command.id, "/cancel"), .body = body.endObject().take()});
  if (!reply) return reply.error();
  printChanged(terminal, *reply, reply->json.root(), "");
  return kExitOk;
}

int run(const FlowRetryCommand& command, ApiClient& api, Terminal& terminal) {
  JsonWriter body;
  body.beginObject();
  if (!command.jobs.empty()) body.list("jobs", command.jobs);
  body.field("deadline_seconds", command.deadline_seconds);
  const auto reply = call(
      api, terminal,
      {.method = "POST", .path = flowPath(command.id, "/retry"), .body = body.endObject().take()});
  if (!reply) return reply.error();
  const JsonValue root = reply->json.root();
  const auto flow = member(root, "flow");
  const std::string count = textOf(root, "count");
  printChanged(terminal, *reply, flow.value_or(root),
               flow
                   ? fmt::format(", round {}: {} job{} put back", printable(textOf(*flow, "round")),
                                 printable(count), count == "1" ? "" : "s")
                   : "");
  return kExitOk;
}

int run(const FlowDeleteCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.method = "DELETE", .path = flowPath(command.id)});
  if (!reply) return reply.error();
  terminal.err << fmt::format("deleted {}\n", printable(command.id));
  return kExitOk;
}

}  // namespace muster

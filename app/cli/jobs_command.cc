#include <fmt/format.h>

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/job_note.h"
#include "app/cli/relative_time.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"

namespace muster {
namespace {

std::string triesOf(JsonValue job) {
  return textOf(job, "attempts") + "/" + textOf(job, "max_retries");
}

void printJob(Terminal& terminal, JsonValue job, const std::optional<Time>& now) {
  std::vector<std::pair<std::string, Cell>> pairs;
  const std::string status = textOf(job, "status");
  pairs.emplace_back("id", textOf(job, "id"));
  pairs.emplace_back("pool", textOf(job, "pool_id"));
  pairs.emplace_back("status", Cell(status, tintOfStatus(status)));
  pairs.emplace_back("tries", triesOf(job));
  for (const char* name : {"flow_id", "name", "parent_id", "blocked_by", "may_fail", "reason",
                           "error", "claimed_by", "progress", "progress_message", "priority",
                           "tenant", "unique_key", "cancel_requested", "crashes"}) {
    const std::string value = textOf(job, name);
    if (!value.empty() && value != "0" && value != "false") pairs.emplace_back(name, value);
  }
  for (const char* name : {"created_at", "available_at", "claimed_at", "lease_expires_at",
                           "finished_at", "expires_at"}) {
    const std::string value = timeAndAgo(job, name, now);
    if (!value.empty()) pairs.emplace_back(name, value);
  }
  terminal.out << renderPairs(pairs, terminal.color);
  for (const char* name : {"data", "result"}) {
    if (const auto value = member(job, name)) {
      terminal.out << name << "\n  " << printableLines(value->raw()) << "\n";
    }
  }
}

HttpRequest requestFor(JobChangeCommand::Change change, const std::string& id) {
  switch (change) {
    case JobChangeCommand::Change::kCancel:
      return {.method = "POST", .path = apiPath({"v1", "jobs", id, "cancel"})};
    case JobChangeCommand::Change::kRetry:
      return {.method = "POST", .path = apiPath({"v1", "jobs", id, "retry"})};
    case JobChangeCommand::Change::kRemove:
      break;
  }
  return {.method = "DELETE", .path = apiPath({"v1", "jobs", id})};
}

}  // namespace

int run(const JobListCommand& command, ApiClient& api, Terminal& terminal) {
  const auto jobs = list(api, terminal, apiPath({"v1", "pools", command.pool, "jobs"}),
                         {{"status", command.status}, {"tenant", command.tenant}}, command.limit);
  if (!jobs) return jobs.error();
  if (terminal.json) {
    printItems(terminal, *jobs);
    return kExitOk;
  }
  Table table({{.title = "ID"},
               {.title = "STATUS"},
               {.title = "TRIES", .is_number = true},
               {.title = "CREATED"},
               {.title = "NOTE", .can_shrink = true},
               {.title = "DATA", .can_shrink = true}});
  for (const auto& job : jobs->items) {
    const std::string status = textOf(job, "status");
    const auto data = member(job, "data");
    table.add({textOf(job, "id"), Cell(status, tintOfStatus(status)), triesOf(job),
               ago(job, "created_at", jobs->now), jobNote(job, jobs->now),
               data ? std::string(data->raw()) : "null"});
  }
  if (table.empty()) {
    terminal.err << fmt::format("no jobs in {}\n", command.pool);
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *jobs);
  return kExitOk;
}

int run(const JobShowCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = apiPath({"v1", "jobs", command.id})});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else {
    printJob(terminal, reply->json.root(), reply->now);
  }
  return kExitOk;
}

int run(const JobAttemptsCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = apiPath({"v1", "jobs", command.id, "attempts"})});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  Table table({{.title = "TRY", .is_number = true},
               {.title = "OUTCOME"},
               {.title = "WORKER", .can_shrink = true},
               {.title = "CLAIMED"},
               {.title = "TOOK", .is_number = true},
               {.title = "EXIT", .is_number = true},
               {.title = "CLASS", .can_shrink = true},
               {.title = "ERROR", .can_shrink = true}});
  for (const auto& attempt : itemsOf(reply->json.root(), "items")) {
    const std::string outcome = textOf(attempt, "outcome");
    const std::string signal = textOf(attempt, "exit_signal");
    const auto start = timeOf(attempt, "claimed_at"), end = timeOf(attempt, "ended_at");
    table.add({textOf(attempt, "attempt"), Cell(outcome, tintOfStatus(outcome)),
               textOf(attempt, "worker_id"), ago(attempt, "claimed_at", reply->now),
               start && end ? durationText(*end - *start) : "",
               signal.empty() ? textOf(attempt, "exit_code") : "signal " + signal,
               textOf(attempt, "error_class"), textOf(attempt, "error")});
  }
  if (table.empty()) {
    terminal.err << "not tried yet\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  return kExitOk;
}

int run(const JobChangeCommand& command, ApiClient& api, Terminal& terminal) {
  int exit_code = kExitOk;
  for (const auto& id : command.ids) {
    const auto reply = call(api, terminal, requestFor(command.change, id));
    if (!reply) {
      exit_code = reply.error();
      if (exit_code == kExitUnreachable) return exit_code;
      continue;
    }
    if (command.change == JobChangeCommand::Change::kRemove) {
      terminal.err << fmt::format("removed {}\n", printable(id));
    } else if (terminal.json) {
      terminal.out << reply->json.text() << "\n";
    } else {
      const JsonValue job = reply->json.root();
      const bool asked =
          member(job, "cancel_requested").has_value() && textOf(job, "cancel_requested") == "true";
      terminal.out << fmt::format("{}  {}{}\n", printable(textOf(job, "id")),
                                  printable(textOf(job, "status")),
                                  asked ? ", its worker is asked to stop" : "");
    }
  }
  return exit_code;
}

}  // namespace muster

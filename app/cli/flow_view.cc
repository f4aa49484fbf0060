#include "app/cli/flow_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "app/cli/relative_time.h"
#include "app/cli/service_call.h"

namespace muster {
namespace {

std::size_t countOf(JsonValue flow, std::string_view name) {
  const auto counts = member(flow, "counts");
  const std::string text = counts ? textOf(*counts, name) : "";
  std::size_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

std::size_t leftOf(JsonValue flow) { return countOf(flow, "blocked") + countOf(flow, "live"); }

bool hasEnded(JsonValue flow) { return !textOf(flow, "ended_at").empty(); }

// "running for 12s", or "took 12s, 5m ago".
std::string timesOf(JsonValue flow, const std::optional<Time>& now) {
  const auto created = timeOf(flow, "created_at"), ended = timeOf(flow, "ended_at");
  if (!created) return "";
  if (ended) {
    return fmt::format("took {}, {}", durationText(*ended - *created), ago(flow, "ended_at", now));
  }
  return now ? "for " + durationText(std::max(*now - *created, Millis(0))) : "";
}

}  // namespace

std::size_t jobsOf(JsonValue flow) { return countOf(flow, "total"); }

std::size_t endedJobsOf(JsonValue flow) {
  return jobsOf(flow) - std::min(jobsOf(flow), leftOf(flow));
}

std::string flowProgress(JsonValue flow) {
  std::string text =
      fmt::format("{} done, {} failed", countOf(flow, "done"), countOf(flow, "poisoned"));
  if (const std::size_t cancelled = countOf(flow, "cancelled"); cancelled > 0) {
    text += fmt::format(", {} cancelled", cancelled);
  }
  return text + fmt::format(", {} left", leftOf(flow));
}

std::string flowHeading(JsonValue flow, const std::optional<Time>& now, bool color) {
  const std::string name = textOf(flow, "name"), status = textOf(flow, "status"),
                    reason = textOf(flow, "reason");
  std::string text = printable(name.empty() ? "flow" : name) + "  " +
                     printable(textOf(flow, "flow_id")) + "  " +
                     tinted(printable(status), tintOfStatus(status), color);
  if (!reason.empty()) text += ": " + printable(reason);
  if (const std::string round = textOf(flow, "round"); round != "1" && !round.empty()) {
    text += ", round " + printable(round);
  }
  if (textOf(flow, "closed") == "false") text += ", open for more jobs";
  if (!hasEnded(flow) && !textOf(flow, "deadline_at").empty()) {
    text += ", deadline " + ago(flow, "deadline_at", now);
  }
  const std::size_t jobs = jobsOf(flow);
  const std::string times = timesOf(flow, now);
  return text + fmt::format("\n{} job{}: {}{}\n", jobs, jobs == 1 ? "" : "s", flowProgress(flow),
                            times.empty() ? "" : "; " + times);
}

Table flowTable(const std::vector<JsonValue>& flows, const std::optional<Time>& now) {
  Table table({{.title = "FLOW"},
               {.title = "NAME", .can_shrink = true},
               {.title = "STATUS"},
               {.title = "JOBS", .is_number = true},
               {.title = "DONE", .is_number = true},
               {.title = "FAILED", .is_number = true},
               {.title = "LEFT", .is_number = true},
               {.title = "CREATED"},
               {.title = "REASON", .can_shrink = true}});
  for (const auto& flow : flows) {
    const std::string status = textOf(flow, "status");
    const std::size_t failed = countOf(flow, "poisoned");
    table.add({textOf(flow, "flow_id"), textOf(flow, "name"), Cell(status, tintOfStatus(status)),
               std::to_string(jobsOf(flow)), std::to_string(countOf(flow, "done")),
               Cell(std::to_string(failed), failed > 0 ? Tint::kBad : Tint::kNone),
               std::to_string(leftOf(flow)), ago(flow, "created_at", now), textOf(flow, "reason")});
  }
  return table;
}

std::string failedJobsText(JsonValue flow) {
  std::string text;
  for (const auto& job : itemsOf(flow, "failed_jobs")) {
    const std::string error = textOf(job, "error");
    text += fmt::format("  {}  {}  {}\n", printable(textOf(job, "name")),
                        printable(textOf(job, "job_id")),
                        printable(error.empty() ? textOf(job, "reason") : error));
  }
  return text;
}

}  // namespace muster

#include "app/cli/job_note.h"

#include <fmt/format.h>

#include "app/cli/relative_time.h"
#include "app/cli/service_call.h"

namespace muster {

std::string jobNote(JsonValue job, const std::optional<Time>& now) {
  const std::string status = textOf(job, "status");
  if (status == "claimed") {
    return fmt::format("by {}, lease ends {}", textOf(job, "claimed_by"),
                       ago(job, "lease_expires_at", now));
  }
  if (status == "blocked") {
    const std::string edges = textOf(job, "blocked_by");
    return edges.empty() ? "" : "waits for " + edges + (edges == "1" ? " job" : " jobs");
  }
  if (status == "pending") {
    const auto due = timeOf(job, "available_at");
    if (due && now && *due - *now >= Seconds(1)) return "due " + relativeTime(*due, *now);
  }
  if (status == "done") {
    const auto start = timeOf(job, "claimed_at"), end = timeOf(job, "finished_at");
    return start && end ? "took " + durationText(*end - *start) : "";
  }
  const std::string error = textOf(job, "error");
  return error.empty() ? textOf(job, "reason") : error;
}

}  // namespace muster

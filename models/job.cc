#include "models/job.h"

#include <algorithm>

namespace muster {
namespace {
constexpr std::array<std::string_view, kJobStatuses> kNames = {"pending",  "claimed",   "done",
                                                               "poisoned", "cancelled", "blocked"};
}

std::string_view name(JobStatus status) { return kNames[static_cast<std::size_t>(status)]; }

std::optional<JobStatus> parseJobStatus(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<JobStatus>(i);
  }
  return std::nullopt;
}

bool expiresBeforeItBegins(const NewJob& job, Time now) {
  return job.expires_at &&
         *job.expires_at <= std::max(job.available_at.value_or(now + job.delay), now);
}

std::size_t payloadBytes(const Job& job) {
  return job.data.size() + (job.result ? job.result->size() : 0) + job.artifacts.size() +
         job.resource_refs.size() + job.placement.size() + job.error.size() +
         (job.flow ? job.flow->upstream.size() : 0);
}

}  // namespace muster

#pragma once

#include <optional>
#include <string>

#include "app/worker/job_end.h"

namespace muster {

// A command ends with this code to be tried again later at no cost (EX_TEMPFAIL of sysexits.h).
constexpr int kExitTryLater = 75;

struct JobReport {
  std::string verb;  // complete, fail or release
  std::string body;  // JSON

  bool operator==(const JobReport&) const = default;
};

// What to tell the service about a job. Nothing when the job is not ours any more.
std::optional<JobReport> reportOf(const JobEnd& end, const std::string& program,
                                  const std::string& lease_token, std::size_t max_result_bytes);

// For a result that the service did not take.
JobReport refusedResult(const std::string& lease_token, const std::string& why);

// Gives the job back as if it had not been tried.
JobReport releaseOf(const std::string& lease_token);

}  // namespace muster

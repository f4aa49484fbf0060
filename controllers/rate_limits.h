#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "models/clock.h"
#include "models/job.h"
#include "models/policy/token_bucket.h"
#include "models/result.h"

namespace muster {

// How near a request came to a limit, told with its answer.
using RateLevel = std::optional<TokenBucket::Level>;

// How many requests a second, and how many jobs a second of one tenant. Thread-safe.
class RateLimits {
 public:
  RateLimits(double requests_per_second, double tenant_jobs_per_second, const Clock& clock)
      : clock_(clock), tenant_rate_(tenant_jobs_per_second), requests_(requests_per_second) {
    limits_requests_ = requests_per_second > 0;
  }

  // kRateLimited, with the time to wait. `level` becomes that of the limit that refuses, or else of
  // the one that is nearest to it, what stood there before included.
  Status admitRequest(RateLevel& level);
  // All of them or none: jobs of one tenant that are too many cost the others nothing.
  Status admitJobs(const std::vector<NewJob>& jobs, RateLevel& level);

 private:
  const Clock& clock_;
  const double tenant_rate_;
  bool limits_requests_;
  std::mutex mutex_;
  TokenBucket requests_;                        // guarded by mutex_
  std::map<std::string, TokenBucket> tenants_;  // guarded by mutex_
};

}  // namespace muster

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

// How many requests a second in all and of one token, how many jobs a second of one tenant, and how
// many refused tokens from one address. Thread-safe.
class RateLimits {
 public:
  // Per second; 0: any number.
  struct Rates {
    double requests = 0;
    double token_requests = 0;
    double tenant_jobs = 0;
  };
  RateLimits(Rates rates, const Clock& clock)
      : clock_(clock), rates_(rates), requests_(rates.requests) {}

  // kRateLimited, with the time to wait. `level` becomes that of the limit that refuses, or else of
  // the one that is nearest to it, what stood there before included. `principal` is the name of the
  // token; "" where there are none.
  Status admitRequest(const std::string& principal, RateLevel& level);
  // Somebody at the address was not let in. kRateLimited once that happens too often.
  Status countRefusal(const std::string& address);
  // All of them or none: jobs of one tenant that are too many cost the others nothing.
  Status admitJobs(const std::vector<NewJob>& jobs, RateLevel& level);
  // The same, by the number of jobs of each tenant.
  using JobsOfTenants = std::map<std::string, double>;
  Status admitJobs(const JobsOfTenants& jobs, RateLevel& level);
  // False: admitJobs() refuses nothing.
  bool limitsTenants() const { return rates_.tenant_jobs > 0; }

 private:
  using Buckets = std::map<std::string, TokenBucket>;
  static TokenBucket& bucketOf(Buckets& buckets, const std::string& name, double rate,
                               TokenBucket::Instant now);

  const Clock& clock_;
  const Rates rates_;
  std::mutex mutex_;
  TokenBucket requests_;  // this and those below are guarded by mutex_
  Buckets tokens_;
  Buckets tenants_;
  Buckets refusals_;  // by address
};

}  // namespace muster

#include "controllers/rate_limits.h"

namespace muster {
namespace {

constexpr std::size_t kMostRateBuckets = 10'000;
constexpr double kRefusalsPerSecond = 50;  // and twice that in a burst: a person does not notice

Status refuse(std::string what, std::chrono::seconds wait) {
  return tl::unexpected(Error{ErrorCode::kRateLimited, std::move(what), {}, wait});
}

void tighten(RateLevel& level, const TokenBucket& bucket) {
  const auto seen = bucket.level();
  if (!level || seen.remaining < level->remaining) level = seen;
}

}  // namespace

// One that is full says nothing that a new one would not say.
TokenBucket& RateLimits::bucketOf(Buckets& buckets, const std::string& name, double rate,
                                  TokenBucket::Instant now) {
  if (buckets.size() >= kMostRateBuckets && !buckets.contains(name)) {
    std::erase_if(buckets, [now](const auto& entry) { return entry.second.isFull(now); });
    if (buckets.size() >= kMostRateBuckets) buckets.erase(buckets.begin());
  }
  return buckets.try_emplace(name, rate).first->second;
}

Status RateLimits::admitRequest(const std::string& principal, RateLevel& level) {
  const bool by_token = rates_.token_requests > 0 && !principal.empty();
  if (rates_.requests <= 0 && !by_token) return {};
  const std::lock_guard lock(mutex_);
  const auto now = clock_.monotonic();
  TokenBucket* const own =
      by_token ? &bucketOf(tokens_, principal, rates_.token_requests, now) : nullptr;
  // A token over its limit takes nothing from the others.
  if (own != nullptr) {
    const auto wait = own->wait(now);
    tighten(level, *own);
    if (wait) return refuse("more requests a second of this token than token_qps_limit", *wait);
  }
  if (rates_.requests > 0) {
    const auto wait = requests_.take(now);
    tighten(level, requests_);
    if (wait) return refuse("more requests a second than global_qps_limit", *wait);
  }
  if (own != nullptr) {
    own->take(now);
    tighten(level, *own);
  }
  return {};
}

Status RateLimits::countRefusal(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.monotonic();
  const auto wait = bucketOf(refusals_, address, kRefusalsPerSecond, now).take(now);
  return wait ? refuse("too many requests without a valid token from " + address, *wait) : Status();
}

Status RateLimits::admitJobs(const std::vector<NewJob>& jobs, RateLevel& level) {
  if (!limitsTenants()) return {};
  JobsOfTenants by_tenant;
  for (const NewJob& job : jobs) {
    if (!job.tenant.empty()) by_tenant[job.tenant] += 1;
  }
  return admitJobs(by_tenant, level);
}

Status RateLimits::admitJobs(const JobsOfTenants& by_tenant, RateLevel& level) {
  if (!limitsTenants() || by_tenant.empty()) return {};
  const std::lock_guard lock(mutex_);
  const auto now = clock_.monotonic();
  for (const auto& [tenant, count] : by_tenant) {
    auto& bucket = bucketOf(tenants_, tenant, rates_.tenant_jobs, now);
    if (const auto wait = bucket.wait(now, count)) {
      level = bucket.level();
      return refuse("more jobs a second of tenant '" + tenant + "' than tenant_qps_limit", *wait);
    }
  }
  for (const auto& [tenant, count] : by_tenant) {
    auto& bucket = bucketOf(tenants_, tenant, rates_.tenant_jobs, now);
    bucket.take(now, count);
    tighten(level, bucket);
  }
  return {};
}

}  // namespace muster

#include "controllers/rate_limits.h"

namespace muster {
namespace {

constexpr std::size_t kManyTenants = 10'000;

Status refuse(std::string what, std::chrono::seconds wait) {
  return tl::unexpected(Error{ErrorCode::kRateLimited, std::move(what), {}, wait});
}

void tighten(RateLevel& level, const TokenBucket& bucket) {
  const auto seen = bucket.level();
  if (!level || seen.remaining < level->remaining) level = seen;
}

}  // namespace

Status RateLimits::admitRequest(RateLevel& level) {
  if (!limits_requests_) return {};
  const std::lock_guard lock(mutex_);
  const auto wait = requests_.take(clock_.monotonic());
  tighten(level, requests_);
  return wait ? refuse("more requests a second than global_qps_limit", *wait) : Status();
}

Status RateLimits::admitJobs(const std::vector<NewJob>& jobs, RateLevel& level) {
  if (tenant_rate_ <= 0) return {};
  std::map<std::string, double> by_tenant;
  for (const NewJob& job : jobs) {
    if (!job.tenant.empty()) by_tenant[job.tenant] += 1;
  }
  if (by_tenant.empty()) return {};
  const std::lock_guard lock(mutex_);
  const auto now = clock_.monotonic();
  if (tenants_.size() > kManyTenants) {
    std::erase_if(tenants_, [now](const auto& entry) { return entry.second.isFull(now); });
  }
  for (const auto& [tenant, count] : by_tenant) {
    auto& bucket = tenants_.try_emplace(tenant, tenant_rate_).first->second;
    if (const auto wait = bucket.wait(now, count)) {
      level = bucket.level();
      return refuse("more jobs a second of tenant '" + tenant + "' than tenant_qps_limit", *wait);
    }
  }
  for (const auto& [tenant, count] : by_tenant) {
    auto& bucket = tenants_.at(tenant);
    bucket.take(now, count);
    tighten(level, bucket);
  }
  return {};
}

}  // namespace muster
